# SPDX-License-Identifier: BSD-3-Clause
"""The Inspector's table as text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any


def grid(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows in a box, numbered, numbers aligned at the decimal point. None is an empty cell."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[str(index) for index in range(len(rows))]]
    right = [True]
    for name in columns:
        values = [row.get(name) for row in rows]
        numeric = any(_is_number(value) for value in values) and all(
            value is None or _is_number(value) for value in values
        )
        cells.append(_aligned([_text(value) for value in values]) if numeric else [_text(value) for value in values])
        right.append(numeric)
    header = ["", *columns]
    widths = [max([len(name), *map(len, column)]) for name, column in zip(header, cells, strict=True)]

    def line(left: str, fill: str, middle: str, end: str) -> str:
        return left + middle.join(fill * (width + 2) for width in widths) + end

    def text(values: Sequence[str]) -> str:
        padded = [v.rjust(w) if r else v.ljust(w) for v, w, r in zip(values, widths, right, strict=True)]
        return "│ " + " │ ".join(padded) + " │"

    lines = [line("╒", "═", "╤", "╕"), text(header), line("╞", "═", "╪", "╡")]
    for index in range(len(rows)):
        if index > 0:
            lines.append(line("├", "─", "┼", "┤"))
        lines.append(text([column[index] for column in cells]))
    return "\n".join([*lines, line("╘", "═", "╧", "╛")])


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:g}" if math.isfinite(value) else str(value)
    return str(value).replace("\n", " ")


def _aligned(texts: Sequence[str]) -> list[str]:
    """Texts of numbers, with blanks at their ends so that the decimal points are in one column."""
    decimals = [len(text) - text.find(".") if "." in text else 0 for text in texts]
    most = max(decimals, default=0)
    return [text + " " * (most - count) for text, count in zip(texts, decimals, strict=True)]
