# SPDX-License-Identifier: BSD-3-Clause
"""The report as one HTML page without scripts, and without fonts or images from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from importlib import resources
from typing import Any

from sdk.devtools.report._model import Row
from sdk.devtools.report.export_result import ExportResult
from sdk.devtools.report.facts import MethodFacts
from sdk.devtools.report.plan_picture import plan_picture
from sdk.devtools.report.summary import delegated, memory, signature, verified
from sdk.util.html_page import html_page
from sdk.util.words import counted, readable_bytes

_LARGEST = 15


def page(result: ExportResult, report: dict[str, Any]) -> str:
    """The page of one export; `report` is the same as plain data."""
    program, made = report["program"], report["made_with"]
    style = resources.files("sdk.devtools.report").joinpath("page.css").read_text(encoding="utf-8")
    body = [
        f"<h1>{escape(result.output.name)}</h1>",
        f'<p class="dim">from <code>{escape(report["model"]["name"])}</code> with {escape(report["model"]["inputs"])}; '
        f"sdk {escape(made['sdk'])}, torch {escape(made['torch'])}, Python {escape(made['python'])}</p>",
        _cards(result, program),
        *(f'<p class="note">{escape(note)}</p>' for note in [*result.warnings, *result.notes]),
        "<h2>Difference from PyTorch</h2>",
        *([f"<p>{escape(verified(c))}</p>" for c in result.comparisons] or ["<p>Not verified (--no-verify).</p>"]),
    ]
    for method in result.facts.methods:
        body += _method(method, result)
    body += ["<h2>Time of the export</h2>", _stages(report["stages"])]
    return html_page(result.output.name, style, "\n".join(body))


def _cards(result: ExportResult, program: dict[str, Any]) -> str:
    worst = [found.worst for found in result.comparisons if found.worst is not None and found.compared]
    error = f"{max(w.max_abs for w in worst):.2g}" if worst else "not compared"
    delegated = any(method.delegates for method in result.facts.methods)
    cards = [
        (readable_bytes(program["bytes"]), "program file"),
        (readable_bytes(program["weight_bytes"]), "weights outside of delegates" if delegated else "weights"),
        (readable_bytes(sum(method.arena_bytes for method in result.facts.methods)), "planned memory"),
        (str(sum(method.operators.total() for method in result.facts.methods)), "operator calls"),
        (error, "largest difference from PyTorch"),
    ]
    return (
        '<div class="cards">'
        + "".join(f'<div class="card"><b>{a}</b><span class="dim">{b}</span></div>' for a, b in cards)
        + "</div>"
    )


def _method(method: MethodFacts, result: ExportResult) -> list[str]:
    parts = [
        f"<h2>Method <code>{escape(signature(method))}</code></h2>",
        f"<p>Delegated: {escape(delegated(method, result))}.</p>",
    ]
    parts += ["<h3>Memory plan</h3>", f"<p>{escape(memory(method))}. A box is a tensor: point at it to read which.</p>"]
    for memory_id, size in method.arenas.items():
        there = [tensor for tensor in method.tensors if tensor.memory_id == memory_id]
        if len(method.arenas) > 1:
            parts.append(f"<p>Memory {memory_id}, {readable_bytes(size)}</p>")
        parts.append(plan_picture(there, size, method.instructions))
    largest = sorted(method.tensors, key=lambda tensor: -tensor.nbytes)[:_LARGEST]
    parts += [
        f"<h3>The largest tensors ({len(largest)} of {len(method.tensors)})</h3>",
        table(
            ["tensor", "bytes", "alive", "made by"],
            [[t.type, readable_bytes(t.nbytes), f"{t.first}–{t.last}", t.made_by] for t in largest],
            numeric={1, 2},
        ),
        f"<h3>Operators ({counted(method.operators.total(), 'call')})</h3>",
        bars(method.operators.most_common()),
        f"<h3>Every node ({len(result.receipt.of(method.name))})</h3>",
        _receipt(result.receipt.of(method.name)),
    ]
    return parts


def _receipt(rows: Sequence[Row]) -> str:
    head = ["node", "operator", "where", "makes", "planned", "from", "why not elsewhere"]
    lines = [
        [
            row.node,
            row.operator,
            row.where,
            ", ".join(str(value) for value in row.values),
            readable_bytes(row.planned_bytes) if row.planned_bytes else "",
            row.source,
            row.why,
        ]
        for row in rows
    ]
    return f"<details><summary>show</summary>{table(head, lines, numeric={4})}</details>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numeric: set[int]) -> str:
    """A table of texts. The columns in `numeric` are aligned to the right."""

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{' class=n' if i in numeric else ''}>{escape(cell)}</{tag}>" for i, cell in enumerate(row)
        )

    lines = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f'<div class="table"><table><thead><tr>{cells("th", head)}</tr></thead><tbody>{lines}</tbody></table></div>'


def bars(counts: Sequence[tuple[str, int]], show: Callable[[int], str] = str) -> str:
    """A table of names and counts with a bar for each."""
    most = max((count for _, count in counts), default=1)
    lines = "".join(
        f'<tr><td><code>{escape(name)}</code></td><td class="n">{escape(show(count))}</td>'
        f'<td class="bars"><div class="bar" style="width:{100 * count / most:.1f}%"></div></td></tr>'
        for name, count in counts
    )
    return f'<div class="table"><table><tbody>{lines}</tbody></table></div>'


def _stages(stages: Sequence[dict[str, Any]]) -> str:
    return table(
        ["stage", "seconds", ""], [[s["name"], f"{s['seconds']:.2f}", s["detail"]] for s in stages], numeric={1}
    )
