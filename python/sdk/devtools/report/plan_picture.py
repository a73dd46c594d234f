# SPDX-License-Identifier: BSD-3-Clause
"""The memory plan of one arena as an inline SVG: time from left to right, bytes from bottom to top, a box for each
tensor.

The drawing is as wide as its container: positions are percentages, so that texts have the same size at every width.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import count

from sdk.devtools.report.facts import PlannedTensor
from sdk.util.words import readable_bytes

_MOST_TICKS = 6
_THIN = 0.25  # the least width and height of a box, in percent: it can still be seen and pointed at


def plan_picture(tensors: Sequence[PlannedTensor], arena: int, instructions: int) -> str:
    """An <svg> of `tensors`, all of one memory id, in an arena of `arena` bytes over `instructions` instructions."""
    steps, size = max(instructions, 1), max(arena, 1)
    parts = [
        f'<svg role="img" aria-label="Memory plan: {len(tensors)} tensors in {readable_bytes(arena)}" class="plan">'
    ]
    for tick in ticks(arena):
        y = _percent(size - tick, size)
        parts.append(f'<line x1="0" x2="100%" y1="{y}" y2="{y}" class="grid"/>')
        label = readable_bytes(tick).replace(".0 ", " ")
        parts.append(f'<text x="0" y="{y}" dx="-8" dy="4" class="tick end">{label}</text>')
    for tick in ticks(steps - 1):  # below the middle of the instruction's column
        x = _percent(2 * tick + 1, 2 * steps)
        parts.append(f'<text x="{x}" y="100%" dy="16" class="tick mid">{tick}</text>')
    parts.append('<text x="50%" y="100%" dy="31" class="tick mid">instruction</text>')
    for number, tensor in enumerate(tensors):
        parts.append(
            f'<rect x="{_percent(tensor.first, steps)}" y="{_percent(size - tensor.offset - tensor.nbytes, size)}" '
            f'width="{_percent(tensor.last - tensor.first + 1, steps, _THIN)}" '
            f'height="{_percent(tensor.nbytes, size, _THIN)}" '
            f'class="box c{number % 6}" data-instruction="{tensor.first}"><title>'
            f"{escape(tensor.type)}, {readable_bytes(tensor.nbytes)} at {tensor.offset}\n"
            f"alive from instruction {tensor.first} to {tensor.last}\nmade by {escape(tensor.made_by)}</title></rect>"
        )
    parts.append("</svg>")
    return "\n".join(parts)


def ticks(last: int) -> list[int]:
    """The labels of an axis from 0 to `last`: the multiples of 1, 2 or 5 times a power of ten, at most about six of
    them."""
    step = next(s for power in count() for s in (10**power, 2 * 10**power, 5 * 10**power) if last < _MOST_TICKS * s)
    return list(range(0, last + 1, step))


def _percent(part: int, whole: int, least: float = 0.0) -> str:
    return f"{max(100 * part / whole, least):.3f}".rstrip("0").rstrip(".") + "%"
