# SPDX-License-Identifier: BSD-3-Clause
"""docs/conformance.md: which calls of each operator a backend computes, and why it refuses the others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from backends.conformance import Cell, Outcome

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"

HEAD = """# Conformance of the backends

Each operator of Core ATen, at sizes that models have (`tests/backends/cases`), lowered for each backend and run on 1,
2, 3 and 8 threads. All results are those of PyTorch eager; the table says where they were computed:

- `yes`: the backend computes every call;
- `partly`: the backend computes some calls, and kernels compute the others, for the reasons given;
- `no`: kernels compute every call, for the reasons given;
- `nothing to compute`: the compiler removes every call.

The tests in `tests/backends` compare this page with what they find; `scripts/conformance` writes it.

"""
SEPARATOR = "; "

Cells = Mapping[tuple[str, str], Cell]
"""By operator and backend."""


def render(cells: Cells) -> str:
    """The page."""
    names = sorted({name for name, _ in cells})
    columns = sorted({column for _, column in cells})
    lines = [f"| operator | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for name in names:
        found = (cells.get((name, column)) for column in columns)
        lines.append(f"| `{name}` | " + " | ".join(_text(cell) for cell in found) + " |")
    return HEAD + "\n".join(lines) + "\n"


def _text(cell: Cell | None) -> str:
    if cell is None:
        return ""
    reasons = SEPARATOR.join(cell.reasons).replace("|", "\\|")
    return f"{cell.outcome.value}: {reasons}" if reasons else cell.outcome.value


def parse(text: str) -> dict[tuple[str, str], Cell]:
    """The cells of a page."""
    rows = [re.split(r" (?<!\\)\| ", line[2:-2]) for line in text.splitlines() if line.startswith("| ")]
    columns = rows[0][1:]
    cells = {}
    for name, *values in rows[1:]:
        for column, value in zip(columns, values, strict=True):
            if value:
                outcome, _, reasons = value.replace("\\|", "|").partition(": ")
                cells[name.strip("`"), column] = Cell(
                    Outcome(outcome), tuple(reasons.split(SEPARATOR)) if reasons else ()
                )
    return cells


@cache
def read() -> dict[tuple[str, str], Cell]:
    return parse(PAGE.read_text())
