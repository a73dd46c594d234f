# SPDX-License-Identifier: BSD-3-Clause
"""The digits that the Pico recognises, as 28 x 28 drawings: '#' is a white pixel."""

from __future__ import annotations

from collections.abc import Callable

SIZE = 28


def _draw(is_white: Callable[[int, int], bool]) -> str:
    return "\n".join("".join("#" if is_white(row, col) else "." for col in range(SIZE)) for row in range(SIZE))


def _zero(row: int, col: int) -> bool:
    y, x = (row - 13.5) / 11, (col - 13.5) / 8
    return 0.55 <= y * y + x * x <= 1


def _one(row: int, col: int) -> bool:
    return 3 <= row <= 24 and 12 <= col <= 15


def _four(row: int, col: int) -> bool:
    upright = 3 <= row <= 24 and 18 <= col <= 21
    left = 3 <= row <= 15 and 6 <= col <= 9
    return upright or left or (13 <= row <= 15 and 6 <= col <= 24)


def _seven(row: int, col: int) -> bool:
    slope = 20 - (row - 6) * 0.6
    return (3 <= row <= 6 and 4 <= col <= 23) or (7 <= row <= 24 and slope - 1 <= col <= slope + 2)


DIGITS = {0: _draw(_zero), 1: _draw(_one), 4: _draw(_four), 7: _draw(_seven)}
