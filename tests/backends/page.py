# SPDX-License-Identifier: BSD-3-Clause
"""docs/generated/conformance.md: which calls of each operator a backend computes, and why it refuses the others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from backends.conformance import Cell, Outcome
from backends.targets import Target
from sdk.backends import registry

PAGE = Path(__file__).resolve().parents[2] / "docs" / "generated" / "conformance.md"

HEAD = """# Conformance of the backends

Each operator of Core ATen, at sizes that models have (`tests/backends/cases`), lowered for each backend and run on 1,
2, 3 and 8 threads, or in the interpreter or emulator that replaces the device. All results equal PyTorch
eager's, within tolerances; the table says what computed them:

- `yes`: the backend computes every call;
- `partly`: the backend computes some calls, and kernels compute the others, for the reasons below;
- `no`: kernels compute every call, for the reasons below;
- `nothing to compute`: the compiler removes every call.

The tests in `tests/backends`, run by the gate's step `python` and by its steps for backends, compare this page with
what they find; `scripts/pages conformance` writes the columns that it can run.

"""
SEPARATOR = "; "

Cells = Mapping[tuple[str, str], Cell]
"""The cells of the page, by operator and backend."""


def render(cells: Cells) -> str:
    """The page: the outcomes, and the reasons of each backend."""
    names = sorted({name for name, _ in cells})
    columns = sorted({column for _, column in cells})
    lines = [f"| operator | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for name in names:
        found = (cells.get((name, column)) for column in columns)
        lines.append(f"| `{name}` | " + " | ".join(cell.outcome.value if cell else "" for cell in found) + " |")
    for column in columns:
        lines += [f"\n{column}: {note}" for note in _notes(column)]
    for column in columns:
        reasons = [(name, cells[name, column].reasons) for name in names if (name, column) in cells]
        lines += ["", f"{_REASONS}{column}", ""]
        lines += [f"- `{name}`: {SEPARATOR.join(texts)}" for name, texts in reasons if texts]
    return HEAD + "\n".join(lines) + "\n"


def _notes(column: str) -> list[str]:
    """Says how the programs of a column were run if not on the device, and which results are not compared."""
    backend = registry.backends().get(column)
    how = [f"programs ran in {backend.runner_note}."] if backend is not None and backend.runner_note else []
    _, _, processor = column.partition(" on ")
    how += [f"programs ran in an emulator of {processor}."] if processor else []
    return [*how, *filter(None, (Target(column).nan_note, Target(column).angle_note))]


_REASONS = "## Reasons of "


def parse(text: str) -> dict[tuple[str, str], Cell]:
    """The cells of a page."""
    table, *sections = text.split(_REASONS)
    reasons: dict[tuple[str, str], tuple[str, ...]] = {}
    for section in sections:
        column, *items = section.splitlines()
        for name, texts in re.findall(r"^- `(.+?)`: (.+)$", "\n".join(items), re.MULTILINE):
            reasons[name, column] = tuple(texts.split(SEPARATOR))
    rows = [line[2:-2].split(" | ") for line in table.splitlines() if line.startswith("| ")]
    cells = {}
    for name, *values in rows[1:]:
        for column, value in zip(rows[0][1:], values, strict=True):
            if value.strip():
                key = name.strip("`"), column
                cells[key] = Cell(Outcome(value), reasons.get(key, ()))
    return cells


@cache
def read() -> dict[tuple[str, str], Cell]:
    return parse(PAGE.read_text())
