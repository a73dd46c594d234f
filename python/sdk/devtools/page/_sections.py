# SPDX-License-Identifier: BSD-3-Clause
"""The page's sections besides the graph: memory plan, sizes and the export's report, as HTML without scripts."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from sdk.devtools.page._program import ProgramFile
from sdk.devtools.report.export_report import FORMAT
from sdk.devtools.report.facts import MethodFacts
from sdk.devtools.report.page import bars, table
from sdk.devtools.report.plan_picture import plan_picture
from sdk.devtools.report.summary import memory, operators, signature
from sdk.exir._serialize._regular_file import read_file
from sdk.util.words import counted, readable_bytes

_LARGEST = 30


def cards(program: ProgramFile) -> str:
    """The figures at the top of the page."""
    methods = program.facts.methods
    shown = [
        (readable_bytes(program.nbytes), "file"),
        (readable_bytes(program.facts.weight_bytes), "weights of kernels"),
        (readable_bytes(sum(method.arena_bytes for method in methods)), "planned memory"),
        (str(sum(method.operators.total() for method in methods)), "kernel calls"),
        (str(sum(method.delegates.total() for method in methods)), "delegate calls"),
    ]
    return "".join(f"<div><dd>{escape(value)}</dd><dt>{escape(name)}</dt></div>" for value, name in shown)


def memory_section(program: ProgramFile) -> str:
    """The memory plan of each method over time, and its largest tensors."""
    return "\n".join(part for method in program.facts.methods for part in _plan(method))


def _plan(method: MethodFacts) -> list[str]:
    parts = [
        f'<section data-method="{escape(method.name)}">',
        f"<h2>Method <code>{escape(method.name)}</code></h2>",
        f"<p>{escape(memory(method))}.</p>",
    ]
    if method.tensors:
        parts.append(
            "<p>From left to right: instructions. Upwards: bytes. A box is a tensor: point at it to read which.</p>"
        )
    for memory_id, size in method.arenas.items():
        if len(method.arenas) > 1:
            parts.append(f"<h3>Memory {memory_id}, {readable_bytes(size)}</h3>")
        parts.append(plan_picture([t for t in method.tensors if t.memory_id == memory_id], size, method.instructions))
    if method.tensors:
        largest = sorted(method.tensors, key=lambda tensor: -tensor.nbytes)[:_LARGEST]
        rows = [[t.type, readable_bytes(t.nbytes), f"{t.offset:,}", f"{t.first}–{t.last}", t.made_by] for t in largest]
        parts.append(f"<h3>The largest tensors ({len(largest)} of {len(method.tensors)})</h3>")
        parts.append(table(["tensor", "size", "offset", "alive in instructions", "made by"], rows, numeric={1, 2, 3}))
    return [*parts, "</section>"]


def sizes_section(sizes: dict[str, int], recorded: bool) -> str:
    """The parts of the file in bytes; weights by module are added by the script."""
    hint = "" if recorded else '<p class="dim">The names of weights in delegates are in the ETRecord.</p>'
    return f"<h2>Parts of the file</h2>\n{bars(list(sizes.items()), readable_bytes)}{hint}"


def report_section(program: ProgramFile, report: dict[str, Any] | None) -> str:
    """Methods and operators of the program, then the records of the export."""
    parts: list[str] = []
    for method in program.facts.methods:
        parts.append(f"<h2>Method <code>{escape(signature(method))}</code></h2>")
        delegates = ", ".join(f"{counted(n, 'call')} of {name}" for name, n in method.delegates.items())
        parts.append(f"<p>Delegates: {escape(delegates or 'none')}. Kernels: {escape(operators(method))}.</p>")
        if method.operators:
            parts += ["<h3>Kernels</h3>", bars(method.operators.most_common())]
    if report is None:
        parts.append(
            '<h2>The export</h2><p class="dim">The program does not say how it was exported. '
            "<code>sdk export --report report.json</code> does.</p>"
        )
    else:
        parts += _export(report)
    return "\n".join(parts)


def _export(report: dict[str, Any]) -> list[str]:
    model, made = report["model"], report["made_with"]
    receipt = report["receipt"]
    parts = [
        "<h2>The export</h2>",
        f"<p>From <code>{escape(str(model['name']))}</code> with {escape(str(model['inputs']))}; sdk "
        f"{escape(str(made['sdk']))}, torch {escape(str(made['torch']))}, Python {escape(str(made['python']))}.</p>",
        *(f'<p class="note">{escape(str(note))}</p>' for note in [*report["notes"], *receipt["notes"]]),
        *(
            f'<p class="note">{escape(str(loss["kind"]))}: {escape(str(loss["what"]))}</p>'
            for loss in receipt["losses"]
        ),
    ]
    verified = [
        [str(run["method"]), str(run["label"]), str(o["index"]), str(o["type"]), f"{o['max_abs']}", f"{o['max_rel']}"]
        for run in report["verification"]["runs"]
        for o in run["outputs"]
    ]
    if verified:
        head = ["method", "inputs", "output", "type", "largest difference", "as a share"]
        parts += ["<h3>Difference from PyTorch</h3>", table(head, verified, numeric={2, 4, 5})]
    stages = [[str(s["name"]), f"{s['seconds']:.2f}", str(s["detail"])] for s in report["stages"]]
    parts += ["<h3>Time of the export</h3>", table(["stage", "seconds", ""], stages, numeric={1})]
    refused = [
        [str(row["node"]), str(row["operator"]), backend, str(why) or "did not say"]
        for row in receipt["rows"]
        for backend, why in row["refusals"].items()
    ]
    if refused:
        head = ["node", "operator", "backend", "why it did not take the node"]
        parts += ["<h3>What was not delegated</h3>", table(head, refused, numeric=set())]
    return parts


def read_report(path: Path) -> dict[str, Any]:
    """Reads the report of an export as JSON. Raises ValueError if the file is not one."""
    try:
        report = json.loads(read_file(path))
        found = report["report_format"]
        _export(report)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{str(path)!r} is not a report of an export: {error}. Pass the file of `sdk export --report FILE.json`"
        ) from error
    if found != FORMAT:
        raise ValueError(f"{str(path)!r} has report_format {found}, expected {FORMAT}: export again with this version")
    return dict(report)
