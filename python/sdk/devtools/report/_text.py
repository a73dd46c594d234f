# SPDX-License-Identifier: BSD-3-Clause
"""The receipt's table for the terminal."""

from __future__ import annotations

from sdk.devtools.report._model import Row

_HEAD = ("node", "operator", "where", "makes", "planned", "from")


def table(rows: list[Row]) -> list[str]:
    """A line for the header, one for each row, and another for a row that a backend refused."""
    cells = [
        (
            row.node,
            row.operator,
            row.where,
            ", ".join(str(value) for value in row.values),
            str(row.planned_bytes) if any(value.memory_id is not None for value in row.values) else "",
            row.source,
        )
        for row in rows
    ]
    widths = [max(len(line[i]) for line in [_HEAD, *cells]) for i in range(len(_HEAD))]
    lines = []
    for line, row in zip([_HEAD, *cells], [None, *rows], strict=True):
        text = "  ".join(
            cell.rjust(w) if i == 4 else cell.ljust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        )
        lines.append(f"  {text}".rstrip())
        if row is not None and row.refusals:
            lines.append(f"      not elsewhere: {row.why}")
    return lines
