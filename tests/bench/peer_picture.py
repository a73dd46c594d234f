# SPDX-License-Identifier: BSD-3-Clause
"""The peers' table as a picture: the time of each engine as a multiple of this SDK's."""

from __future__ import annotations

from html import escape
from math import log2

from bench.engines import declaration, peers
from bench.peer_table import OURS, Row

LEAST, MOST = 0.5, 32  # of the axis, which is logarithmic
NAMES, PANEL, GAP = 158, 350, 44  # pixels across
HEAD, LINE, FOOT = 78, 26, 34  # pixels down


def colors() -> dict[str, str]:
    """The color of each column, this SDK's first."""
    engines = {OURS: "sdk", **peers()}
    return {column: declaration(engine).color for column, engine in engines.items()}


def across(ratio: float, panel: int) -> float:
    """The x coordinate of a ratio in a panel; beyond the axis, its end."""
    share = log2(min(max(ratio, LEAST), MOST) / LEAST) / log2(MOST / LEAST)
    return NAMES + panel * (PANEL + GAP) + share * PANEL


def picture(rows: list[Row], threads: int) -> str:
    """SVG: a panel for each precision, a line for each model, a dot for each engine whose result counts: right of the
    line at 1 it takes longer than this SDK."""
    shown = [row for row in rows if row.threads == threads and row.counts(OURS)]
    models = list(dict.fromkeys(row.model for row in shown))
    panels = list(dict.fromkeys(row.precision for row in shown))
    width, bottom = NAMES + len(panels) * (PANEL + GAP), HEAD + LINE * len(models)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + FOOT}" '
        'font-family="system-ui, sans-serif" font-size="13">',
        "<style>text { fill: #1b1f24 } .dim { fill: #667080; font-size: 11px } .grid { stroke: #e1e5eb } "
        ".one { stroke: #1b1f24; stroke-width: 1.5 } .end { text-anchor: end } .middle { text-anchor: middle }</style>",
        f'<rect width="{width}" height="{bottom + FOOT}" rx="8" fill="#ffffff"/>',
    ]
    at, of = NAMES + 6.0, colors()
    for engine in (engine for engine in of if any(row.counts(engine) for row in shown)):
        lines.append(f'<circle cx="{at}" cy="24" r="5.5" fill="{of[engine]}"/>')
        lines.append(f'<text x="{at + 11}" y="28">{engine}</text>')
        at += 50 + 7 * len(engine)
    for number, precision in enumerate(panels):
        middle = (across(LEAST, number) + across(MOST, number)) / 2
        lines.append(f'<text class="middle" x="{middle:.1f}" y="{HEAD - 18}" font-weight="600">{precision}</text>')
        for power in range(int(log2(LEAST)), int(log2(MOST)) + 1):
            at, kind = across(2.0**power, number), "one" if power == 0 else "grid"
            lines.append(f'<path class="{kind}" d="M{at:.1f} {HEAD - 8}V{bottom}"/>')
            lines.append(f'<text class="dim middle" x="{at:.1f}" y="{bottom + 16}">{2.0**power:g}×</text>')
    for number, model in enumerate(models):
        lines.append(f'<text class="end" x="{NAMES - 12}" y="{HEAD + LINE * number + 12}">{escape(model)}</text>')
    for row in shown:
        ours = row.samples[OURS].lower_quartile
        # Draw this SDK's dot last, on top of equally fast ones.
        for engine in sorted(filter(row.counts, row.samples), key=lambda name: name == OURS):
            found = row.samples[engine].lower_quartile
            at, down = across(found / ours, panels.index(row.precision)), HEAD + LINE * models.index(row.model) + 8
            lines.append(
                f'<circle cx="{at:.1f}" cy="{down}" r="5.5" fill="{of[engine]}" fill-opacity="0.85">'
                f"<title>{escape(row.model)}, {row.precision}, {engine}: {found:.3g} ms</title></circle>"
            )
    count = f"{threads} thread{'s' if threads > 1 else ''}"
    note = f"time of a call on {count}, as a multiple of this SDK's: right of the line is slower. No dot: not measured"
    lines.append(f'<text class="dim middle" x="{width / 2}" y="{bottom + FOOT - 4}">{note}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"
