# SPDX-License-Identifier: BSD-3-Clause
"""The memory plan of one arena as an inline SVG: time from left to right, bytes from bottom to top, a box for each
tensor."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sdk.devtools.report.facts import PlannedTensor
from sdk.util.words import readable_bytes

_WIDTH, _HEIGHT = 960, 360
_LEFT, _BOTTOM, _TOP = 78, 34, 10
_TICKS = 4


def plan_picture(tensors: Sequence[PlannedTensor], arena: int, instructions: int) -> str:
    """An <svg> of `tensors`, all of one memory id, in an arena of `arena` bytes over `instructions` instructions."""
    steps = max(instructions, 1)
    width, height = _WIDTH - _LEFT - 14, _HEIGHT - _BOTTOM - _TOP
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="Memory plan: {len(tensors)} tensors in '
        f'{readable_bytes(arena)}" class="plan">'
    ]
    for tick in range(_TICKS + 1):
        y = _TOP + height * (1 - tick / _TICKS)
        label = readable_bytes(round(arena * tick / _TICKS))
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - 14}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" class="tick end">{label}</text>')
        x = _LEFT + width * tick / _TICKS
        parts.append(
            f'<text x="{x:.1f}" y="{_HEIGHT - 16}" class="tick mid">{round((steps - 1) * tick / _TICKS)}</text>'
        )
    parts.append(f'<text x="{_LEFT + width / 2}" y="{_HEIGHT - 2}" class="tick mid">instruction</text>')
    for number, tensor in enumerate(tensors):
        x = _LEFT + width * tensor.first / steps
        w = max(width * (tensor.last - tensor.first + 1) / steps, 1.0)
        h = max(height * tensor.nbytes / max(arena, 1), 0.6)
        y = _TOP + height * (1 - (tensor.offset + tensor.nbytes) / max(arena, 1))
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" class="box c{number % 6}" '
            f'data-instruction="{tensor.first}"><title>'
            f"{escape(tensor.type)}, {readable_bytes(tensor.nbytes)} at {tensor.offset}\n"
            f"alive from instruction {tensor.first} to {tensor.last}\nmade by {escape(tensor.made_by)}</title></rect>"
        )
    parts.append("</svg>")
    return "\n".join(parts)
