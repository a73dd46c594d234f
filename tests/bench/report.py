# SPDX-License-Identifier: BSD-3-Clause
"""Results as a Markdown table and as JSON."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import Any

from bench.harness import LOWERING, Results, Series

REFERENCE = "sdk"
ORIGINAL = "original"


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
    """One row per model and figure. The last columns are this SDK's median over each other engine's."""
    reference = next((e for e in engines if e.startswith(REFERENCE)), REFERENCE)
    others = [e for e in engines if e != reference]
    head = ["model", "figure", *engines, *(f"{reference} / {o}" for o in others)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for model, figures in results.items():
        for figure, by_engine in figures.items():
            ratios = []
            for other in others:
                ours, theirs = by_engine.get(reference), by_engine.get(other)
                comparable = ours is not None and theirs is not None and theirs.median
                ratios.append(f"**{ours.median / theirs.median:.3f}**" if comparable else "–")
            row = [model, figure, *(cell(figure, by_engine.get(e)) for e in engines), *ratios]
            lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def compiler_summary(results: Results) -> str:
    """Returns the CPU time of lowering all models and that of the original with the same backend; empty if it was not
    measured."""
    measured = [figures[LOWERING] for figures in results.values() if LOWERING in figures]
    engines = list(dict.fromkeys(engine for by_engine in measured for engine in by_engine))
    first = next((engine for engine in engines if engine.startswith(REFERENCE)), REFERENCE)
    second = ORIGINAL + first.removeprefix(REFERENCE)
    if not measured or not all({first, second} <= by_engine.keys() for by_engine in measured):
        return ""
    ours, theirs = (sum(by_engine[e].median for by_engine in measured) for e in (first, second))
    largest = max(by_engine[first].median / by_engine[second].median for by_engine in measured)
    return (
        f"Lowering, everything after `torch.export`, takes {ours:.3g} s of CPU time over these models, the original "
        f"{theirs:.3g} s: a ratio of {ours / theirs:.3f} (at most 0.5), and at most {largest:.3f} on a model (0.8).\n"
    )


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


def update_page(page: Path, table: str, command: str, section: str = "bench") -> None:
    """Replaces the text between the page's marks of `section` by the command and its table."""
    begin, end = f"<!-- {section}: begin -->", f"<!-- {section}: end -->"
    before, _, rest = page.read_text().partition(begin)
    _, _, after = rest.partition(end)
    made = f"`{command}` on {date.today()}, {machine()}:\n\n{table}"
    page.write_text(f"{before}{begin}\n{made}{end}{after}")
