# SPDX-License-Identifier: BSD-3-Clause
"""The axes of the memory plan's picture: each label is a round number and at the position of its value."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from sdk.devtools.report.facts import PlannedTensor
from sdk.devtools.report.plan_picture import plan_picture, ticks

_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}


def _labels(picture: str, kind: str) -> list[tuple[float, float, str]]:
    """The x and y of each label in percent (0 for none), and its text."""
    found = re.findall(rf'<text x="([\d.]+)%?" y="([\d.]+)%"[^>]*class="tick {kind}">([^<]*)</text>', picture)
    return [(float(x), float(y), text) for x, y, text in found]


@pytest.mark.parametrize("instructions", [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 37, 60, 61, 100, 999, 1000, 12345])
def test_instructions(instructions: int) -> None:
    """Each label is below the middle of its instruction's column; 8 instructions have the labels 0, 2, 4 and 6."""
    labels = _labels(plan_picture([], 1024, instructions), "mid")[:-1]  # the last one is the axis' name
    numbers = [int(text) for _, _, text in labels]
    count = max(instructions, 1)
    assert numbers[0] == 0 and numbers[-1] < count and 1 <= len(numbers) <= 6
    assert all(
        x == pytest.approx(100 * (n + 0.5) / count, abs=0.001) for (x, _, _), n in zip(labels, numbers, strict=True)
    )
    assert len({b - a for a, b in pairwise(numbers)}) <= 1
    assert instructions != 8 or numbers == [0, 2, 4, 6]
    # The box of a tensor that lives for one instruction is above the label of that instruction.
    for x, _, text in labels:
        box = plan_picture([PlannedTensor(0, "float32[1]", 4, 1, 0, int(text), int(text), "input")], 1024, instructions)
        left, width = map(float, re.findall(r'<rect x="([\d.]+)%"[^>]*? width="([\d.]+)%"', box)[0])
        assert left <= x <= left + width


@pytest.mark.parametrize("arena", [0, 1, 7, 64, 143, 999, 1000, 1024, 4096, 49_408, 602_112, 4_816_896, 3_221_225_472])
def test_bytes(arena: int) -> None:
    labels = _labels(plan_picture([], arena, 4), "end")
    assert 1 <= len(labels) <= 6 and labels[0][2] == "0 B"
    values = []
    for _, y, text in labels:
        number, unit = text.split()
        values.append(round(float(number) * _UNITS[unit]))
        assert y == pytest.approx(100 * (1 - values[-1] / max(arena, 1)), abs=0.001)
    assert values == ticks(arena)
    assert all(re.fullmatch("[125]0*", str(b - a)) for a, b in pairwise(values))
    assert arena < 2 or values[-1] > arena / 2  # the axis is labelled to its end
