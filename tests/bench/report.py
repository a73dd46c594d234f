# SPDX-License-Identifier: BSD-3-Clause
"""Results as a Markdown table and as JSON."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import Any

from bench.harness import Results, Series

REFERENCE = "sdk"


def readable(figure: str, value: float) -> str:
    if figure.endswith("bytes"):
        return f"{value / 1e6:.2f} MB" if value >= 1e6 else f"{value / 1e3:.1f} kB"
    return f"{value:.3g}"


def cell(figure: str, series: Series | None) -> str:
    if series is None:
        return "–"
    spread = f" ±{series.spread:.0%}" if series.spread >= 0.005 else ""
    return readable(figure, series.median) + spread


def markdown(results: Results, engines: list[str]) -> str:
    """A row a model and figure; the last columns are this SDK's median over each other engine's (below 1 is better)."""
    others = [e for e in engines if e != REFERENCE]
    head = ["model", "figure", *engines, *(f"{REFERENCE} / {o}" for o in others)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for model, figures in results.items():
        for figure, by_engine in figures.items():
            ratios = []
            for other in others:
                ours, theirs = by_engine.get(REFERENCE), by_engine.get(other)
                comparable = ours is not None and theirs is not None and theirs.median
                ratios.append(f"**{ours.median / theirs.median:.3f}**" if comparable else "–")
            row = [model, figure, *(cell(figure, by_engine.get(e)) for e in engines), *ratios]
            lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def as_json(results: Results) -> dict[str, Any]:
    return {
        model: {
            figure: {e: {"median": s.median, "spread": s.spread, "samples": s.samples} for e, s in by_engine.items()}
            for figure, by_engine in figures.items()
        }
        for model, figures in results.items()
    }


def machine() -> str:
    """The processor's name and the number of cores, as Linux tells them."""
    names = [line.split(":", 1)[1].strip() for line in _cpuinfo() if line.startswith("model name")]
    return f"{names[0] if names else 'unknown processor'}, {os.cpu_count()} cores"


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def update_page(page: Path, table: str, command: str) -> None:
    """Replaces what stands between the page's `bench` marks by the command and its table."""
    begin, end = "<!-- bench: begin -->", "<!-- bench: end -->"
    before, _, rest = page.read_text().partition(begin)
    _, _, after = rest.partition(end)
    made = f"`{command}` on {date.today()}, {machine()}:\n\n{table}"
    page.write_text(f"{before}{begin}\n{made}{end}{after}")
