# SPDX-License-Identifier: BSD-3-Clause
"""Formats the facts as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sdk.command.lines import columns, printable
from sdk.inspect._kinds import NAMES
from sdk.util.words import counted, readable_bytes

Facts = dict[str, Any]

_LARGEST = 5
"""How many planned tensors of an arena, keys of external data and sources of an event are listed at most."""


def text(facts: Facts) -> str:
    """The facts of a file as lines of text."""
    lines = [f"{printable(facts['path'])}  {NAMES[facts['kind']]}, {readable_bytes(facts['bytes'])}"]
    return "\n".join([*lines, *_OF_KIND[facts["kind"]](facts)])


def _program(facts: Facts) -> list[str]:
    lines = _sections(facts["sections"])
    for method in facts["methods"]:
        lines += ["", *_method(method)]
    rows = [("constants", f"{facts['constants']['count']}, {readable_bytes(facts['constants']['bytes'])} in memory")]
    if facts["external_data"]:
        names = ", ".join(map(printable, facts["external_data"][:_LARGEST]))
        more = len(facts["external_data"]) - _LARGEST
        rows.append(("external data", names + (f" and {more} more" if more > 0 else "") + ": needs a .ptd"))
    if facts["named_data"]:
        total = sum(entry["bytes"] for entry in facts["named_data"])
        rows.append(("named data", f"{counted(len(facts['named_data']), 'key')}, {readable_bytes(total)}"))
    lines += ["", *columns(rows)]
    return lines + _models(facts["models"]) if facts.get("models") else lines


def _models(models: Sequence[Facts]) -> list[str]:
    """The models of backends in a program; if they were written, also their files and the operations that they call."""
    rows = []
    for model in models:
        uses = f"{model['backend']}, in {', '.join(map(printable, model['methods']))}"
        rows.append((printable(str(model.get("path", model["name"]))), readable_bytes(model["bytes"]), uses))
        rows += [("", "", f"{printable(name)}  {calls}") for name, calls in model.get("operations", {}).items()]
    return ["", "models", *columns(rows, right=(1,))]


def _sections(sections: Sequence[Facts]) -> list[str]:
    rows = [
        (printable(s["name"]), readable_bytes(s["bytes"]), "" if s["offset"] is None else f"at {s['offset']}")
        for s in sections
    ]
    return ["", "sections", *columns(rows, right=(1,))]


def _method(method: Facts) -> list[str]:
    def values(entries: Sequence[Facts]) -> str:
        return ", ".join(map(value_text, entries)) or "none"

    rows = [("inputs", values(method["inputs"])), ("outputs", values(method["outputs"]))]
    for arena in method["memory"]:
        device = "" if arena["device"] == "cpu" else f" on {arena['device']}"
        rows.append(
            (
                f"memory {arena['id']}{device}",
                f"{readable_bytes(arena['bytes'])} for {counted(len(arena['tensors']), 'tensor')}",
            )
        )
        largest = sorted(arena["tensors"], key=lambda t: -t["bytes"])[:_LARGEST]
        rows += [
            (
                "",
                f"{readable_bytes(t['bytes'])} {t['type']} by {printable(t['made_by'])}, "
                f"instructions {t['first_instruction']} to {t['last_instruction']}",
            )
            for t in largest
        ]
    rows += [
        (
            f"delegate {i}",
            f"{printable(d['id'])}, {readable_bytes(d['bytes'])}, {counted(d['calls'], 'call')}",
        )
        for i, d in enumerate(method["delegates"])
    ]
    rows += [
        ("operators" if i == 0 else "", f"{printable(o['name'])}  {o['calls']}")
        for i, o in enumerate(method["operators"])
    ]
    if method["buffers"]:
        rows.append(("buffers", ", ".join(map(printable, method["buffers"]))))
    return [f"method {printable(method['name'])}  {counted(method['instructions'], 'instruction')}", *columns(rows)]


def value_text(value: Facts) -> str:
    """`float32[1, 3, 224, 224]`, `up to int64[8]`, `int 3`."""
    if value["type"] != "tensor":
        return " ".join(str(value[key]) for key in ("type", "value") if key in value)
    dynamic = "up to " if value.get("shape_dynamism", "static") != "static" else ""
    return f"{dynamic}{value['dtype']}[{', '.join(map(str, value['shape']))}]"


def _data(facts: Facts) -> list[str]:
    rows = []
    for entry in facts["named_data"]:
        what = value_text({"type": "tensor", **entry}) if "dtype" in entry else "bytes"
        rows.append((printable(entry["key"]), readable_bytes(entry["bytes"]), what))
    return [*_sections(facts["sections"]), "", counted(len(rows), "key"), *columns(rows, right=(1,))]


def _bundle(facts: Facts) -> list[str]:
    lines = _sections(facts["sections"])
    for suite in facts["suites"]:
        lines += ["", f"tests of method {printable(suite['method'])}"]
        rows = [
            (
                f"case {i}",
                ", ".join(map(value_text, case["inputs"])) or "no inputs",
                "->",
                ", ".join(map(value_text, case["expected_outputs"])) or "nothing expected",
            )
            for i, case in enumerate(suite["cases"])
        ]
        lines += columns(rows)
    return [*lines, "", f"the program  {readable_bytes(facts['sections'][0]['bytes'])}", *_program(facts["program"])]


def _dump(facts: Facts) -> list[str]:
    lines = []
    for block in facts["blocks"]:
        case = "" if block["case"] is None else f", case {block['case']} of the bundled program"
        lines += ["", f"{printable(block['name'])}  {counted(block['runs'], 'run')}{case}"]
        unit = facts["unit"]
        rows = [("event", "", f"p50 {unit}", f"mean {unit}", "operators", "source")]
        for event in block["events"]:
            time = event["time"]
            numbers = ("", "") if time is None else (f"{time['p50']:.4f}", f"{time['mean']:.4f}")
            where = (event["backend"] or "delegate") if event["delegated"] else ""
            rows.append(
                (
                    printable(event["name"]),
                    printable(where),
                    *numbers,
                    ", ".join(map(printable, dict.fromkeys(event["operators"]))),
                    ", ".join(map(printable, event["sources"][:_LARGEST])),
                )
            )
        lines += columns(rows, right=(2, 3))
    return lines


def _record(facts: Facts) -> list[str]:
    lines = _sections(facts["sections"])
    for program in facts["programs"]:
        lines += ["", f"{printable(program['name'])}  {counted(program['nodes'], 'node')}"]
        lines += columns([(printable(o["name"]), str(o["calls"])) for o in program["operators"]], right=(1,))
    rows = [
        (
            printable(method["name"]),
            f"debug handles of {counted(method['instructions_with_debug_handles'], 'instruction')}, "
            f"{counted(method['delegates'], 'delegate')}",
        )
        for method in facts["methods"]
    ]
    return [*lines, "", "methods", *columns(rows)]


_OF_KIND: dict[str, Callable[[Facts], list[str]]] = {
    "pte": _program,
    "ptd": _data,
    "bpte": _bundle,
    "etdump": _dump,
    "etrecord": _record,
}
