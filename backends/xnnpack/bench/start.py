# SPDX-License-Identifier: BSD-3-Clause
"""`scripts/bench --start`: the CPU time of loading, with and without packed weights in a file, and memory, compared
with the original's. Each start is a separate process; they take turns."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

from bench.comparison import Series
from bench.engines import PRECISIONS
from bench.harness import Engine
from bench.native import built, option_of
from bench.peer_table import PeerTable
from bench.worker import load_model

FIGURES = ("first use", "load", "first", "peak", "own", "planned", "added")  # as start_cost prints them
WAYS = ("without a file", "with the file")


def one_start(command: list[str]) -> dict[str, float]:
    """Runs one process. Returns seconds and bytes."""
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(zip(FIGURES, map(float, output.split()), strict=True))


class Starts:
    """Samples of one program: way -> figure -> series, and the original's load and peak."""

    def __init__(self, model: str, precision: str) -> None:
        self.model, self.precision = model, precision
        self.ways: dict[str, dict[str, Series]] = {}

    def add(self, way: str, figures: dict[str, float]) -> None:
        for name, value in figures.items():
            self.ways.setdefault(way, {}).setdefault(name, Series()).samples.append(value)

    def row(self, size: int) -> str:
        """A row of the table. `size`: the bytes of the program, nearly all of which are weights."""

        def of(way: str, figure: str, factor: float, digits: str) -> str:
            series = self.ways.get(way, {}).get(figure)
            return format(series.median * factor, digits) if series else "–"

        loads = [of(way, "load", 1e3, ".3g") for way in (*WAYS, "original")]
        second, original = (self.ways.get(way, {}).get("load") for way in (WAYS[1], "original"))
        share = f"**{second.median / original.median:.2f}**" if second and original else "–"
        memory = [of(way, figure, 1e-6, ".1f") for way in WAYS for figure in ("own", "peak")]
        peaks = [*memory, of("original", "peak", 1e-6, ".1f")]
        needed = size + sum(self.ways[WAYS[0]][figure].median for figure in ("planned", "added"))
        above = f"{self.ways[WAYS[0]]['peak'].median / needed:.2f}"
        planned = [of(WAYS[0], figure, 1e-6, ".1f") for figure in ("planned", "added")]
        cells = [self.model, self.precision, *loads, share, f"{size / 1e6:.1f}", *planned, *peaks, above]
        return "| " + " | ".join(cells) + " |"


COLUMNS = (
    *("model", "precision", "load ms", "with the file", "original", "with the file / original", "program MB"),
    *("planned MB", "first run MB", "own MB", "peak MB", "own MB, with the file", "peak MB, with the file"),
    *("original's peak MB", "peak / (program + planned + first run)"),
)
HEAD = "| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|"


def measure(table: PeerTable, rounds: int) -> Iterator[str]:
    """The rows of the models whose programs `table` has written."""
    import numpy as np

    binary = built("start_cost", option_of(table.backend))
    yield HEAD
    first_use = Series()
    for model, spec in table.models.items():
        _, tensors = load_model(spec)
        inputs = table.directory / "inputs.npz"
        np.savez(inputs, *[tensor.numpy() for tensor in tensors])
        for precision, suffix in PRECISIONS.items():
            ours, theirs = (table.program(engine + suffix, model) for engine in (table.ours, "original-xnnpack"))
            if not ours.exists():
                continue
            packed = table.directory / "packed-weights"
            starts = Starts(model, precision)
            packed.unlink(missing_ok=True)
            one_start([binary, str(ours), str(packed)])  # writes the file
            for _ in range(rounds):
                starts.add(WAYS[0], one_start([binary, str(ours)]))
                first_use.samples.append(starts.ways[WAYS[0]]["first use"].samples[-1])
                starts.add(WAYS[1], one_start([binary, str(ours), str(packed)]))
                if theirs.exists():
                    worker: Engine = table.start("original-xnnpack" + suffix, 1, writes=False)
                    found = worker.ask("load", path=str(theirs), inputs=str(inputs))
                    worker.close()
                    starts.add("original", {"load": found["load"]["cpu"], "peak": found["peak_bytes"]})
            packed.unlink(missing_ok=True)
            yield starts.row(ours.stat().st_size)
    if first_use.samples:
        yield f"\nThe backend's first use in a process, before that: {first_use.median * 1e3:.2f} ms."
