# SPDX-License-Identifier: BSD-3-Clause
"""The counts as Markdown: a table for each precision and processor, the means, and the rows without counts."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from math import isinf

from bench.arm.cycles import tool
from bench.arm.language import PACKAGE, PEER
from bench.arm.measure import Row
from bench.arm.results import Results
from bench.arm.system import requirements
from bench.comparison import geometric_mean
from bench.engines import module_of
from bench.peer_page import readable
from bench.peer_table import OURS

FIGURES = ("instructions", "cycles")
_FEW = 3  # up to so many models are named, even if they are all models


def page(rows: list[Row], columns: dict[str, str], results: Results) -> str:
    """The page of one run: tables of the rows that have figures, and a list of the others."""
    parts = [f"{versions(columns)} {_dates(rows, list(columns), results)}".strip()]
    for precision, processor in kinds(rows):
        chosen = [row for row in rows if (row.precision, row.processor.name) == (precision, processor) and row.figures]
        if not chosen:
            continue
        title = f"{precision}, {chosen[0].processor.title} (cycles by llvm-mca's {chosen[0].processor.model}):"
        parts.append("\n".join([title, "", *_table(chosen, list(columns))]))
    parts += ["\n".join(missing(rows))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _dates(rows: list[Row], columns: list[str], results: Results) -> str:
    """A sentence: cells are counted on several days."""
    found = results.dates([row.name(column) for row in rows for column in columns])
    return "" if found is None else f"Counted from {found[0]} to {found[1]}."


def kinds(rows: list[Row]) -> list[tuple[str, str]]:
    """Precisions and processors, in the order of the rows."""
    precisions = list(dict.fromkeys(row.precision for row in rows))
    processors = list(dict.fromkeys(row.processor.name for row in rows))
    return [(precision, processor) for precision in precisions for processor in processors]


def versions(columns: dict[str, str]) -> str:
    """A line with the tools and the packages."""
    compiler = _first_line("aarch64-linux-gnu-g++", "--version")
    emulator = _first_line("qemu-aarch64", "--version").partition(" (")[0]
    model = next(line.strip() for line in _lines(tool("llvm-mca"), "--version") if "version" in line)
    peers = [_package(engine) for column, engine in columns.items() if column != OURS]
    return f"{emulator}; {model}; this SDK by {compiler}; {', '.join(peers)}."


def _package(engine: str) -> str:
    return PACKAGE if engine == PEER else requirements(module_of(engine))[0]


def _lines(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def _first_line(*command: str) -> str:
    return _lines(*command)[0]


def _table(rows: list[Row], columns: list[str]) -> Iterator[str]:
    """Millions of instructions and of cycles, and this SDK's numbers divided by the smallest ones of a peer."""
    head = ["model", *columns, *(f"sdk / best, {what}" for what in FIGURES)]
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        ratios = [_ratio(row, what) for what in FIGURES]
        yield "| " + " | ".join([row.model, *(cell(row, column) for column in columns), *ratios]) + " |"
    means = []
    for what in FIGURES:
        found = [ratio for row in rows if (ratio := row.ratio(what))]
        means.append(f"**{geometric_mean(found):.2f}**" if found else "–")
    yield "| " + " | ".join(["geometric mean", *("" for _ in columns), *means]) + " |"


def _ratio(row: Row, what: str) -> str:
    ratio = row.ratio(what)
    return f"{ratio:.2f} ({row.best_peer(what)})" if ratio else "–"


def cell(row: Row, column: str) -> str:
    figure = row.figures.get(column)
    if figure is None:
        return "–"
    text = f"{figure.instructions / 1e6:.1f} / {figure.cycles / 1e6:.1f}"
    exact = row.precision == "float32" or isinf(figure.decibels)
    return text if exact else f"{text}, {figure.decibels:.0f} dB"


def missing(rows: list[Row]) -> Iterator[str]:
    """The models without counts, by reason, with their engines, and with their processors if some were counted."""
    found: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for row in rows:
        for column, reason in row.reasons.items():
            models = found.setdefault((column, row.precision, readable(reason)), {})
            models.setdefault(row.model, []).append(row.processor.title)
    if found:
        yield from ["Not counted:", ""]
    everywhere = len({row.processor.name for row in rows})
    all_models = list(dict.fromkeys(row.model for row in rows))
    columns: dict[str, list[str]] = {}
    for (column, precision, reason), models in found.items():
        for processors in dict.fromkeys(map(tuple, models.values())):
            names = [model for model, titles in models.items() if tuple(titles) == processors]
            which = "all models" if names == all_models and len(names) > _FEW else "; ".join(names)
            where = "" if len(processors) == everywhere else f" on {' and '.join(processors)}"
            columns.setdefault(f"{precision}, {which}{where}: {reason}", []).append(column)
    for text, names in columns.items():
        yield f"- {', '.join(names)}, {text}"
