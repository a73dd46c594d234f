# SPDX-License-Identifier: BSD-3-Clause
"""Compares a backend with all peers that can run a model: float32 and int8, any number of threads."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import Any

from bench.comparison import LARGEST_DIFFERENCE, LEAST_DECIBELS, LEAST_PEERS, Series, Verdict, verdict
from bench.engines import ON_REQUEST, PEER_PYTHON, PRECISIONS, declaration, is_half, peers
from bench.environments import python_of
from bench.harness import Engine, EngineError
from bench.worker import load_model

OURS = "sdk"  # the column of this SDK
ENDINGS = {**PRECISIONS, **ON_REQUEST}
NO_HALF = "this benchmark has no float16 for it"
LONGEST_EXPORT = 1200  # seconds that writing a program may take


@dataclass
class Row:
    """One model in one precision on one number of threads.

    Attributes:
        samples: The times of each column, in milliseconds.
        reasons: Why a column has no times.
        decibels: The signal of each column's result over its difference from eager float32.
        least_peers: The model is part of the means if at least this many peers run it.
    """

    model: str
    precision: str
    threads: int
    samples: dict[str, Series] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    decibels: dict[str, float] = field(default_factory=dict)
    least_peers: int = LEAST_PEERS

    def counts(self, column: str) -> bool:
        """Whether the column was measured and its result is accurate."""
        exact = self.precision == "float32" or self.decibels.get(column, 0.0) > LEAST_DECIBELS
        return column in self.samples and exact

    def peers(self) -> list[str]:
        """The peers that count."""
        return [column for column in self.samples if column != OURS and self.counts(column)]

    def fastest_peer(self) -> str | None:
        return min(self.peers(), key=lambda column: self.samples[column].lower_quartile, default=None)

    def advantage(self) -> float | None:
        """How many times as fast as the fastest peer this SDK is."""
        fastest = self.fastest_peer()
        if fastest is None or not self.counts(OURS):
            return None
        return self.samples[fastest].lower_quartile / self.samples[OURS].lower_quartile

    def verdict(self) -> Verdict | None:
        """The verdict on this SDK and the fastest peer."""
        fastest = self.fastest_peer()
        return verdict(self.samples[OURS], self.samples[fastest]) if fastest and self.counts(OURS) else None

    def in_means(self) -> bool:
        return self.advantage() is not None and len(self.peers()) >= self.least_peers


class PeerTable:
    """Writes the programs of `models` into `directory`, where they stay, and measures them in turns.

    Args:
        backend: The backend of this SDK that is measured.
        columns: Titles of engines; all by default.
    """

    def __init__(self, models: dict[str, str], directory: Path, backend: str, columns: list[str] | None = None) -> None:
        self.models, self.directory, self.backend = models, directory, backend
        self.ours = f"sdk-{backend}"
        known = {OURS: self.ours, **peers(backend)}
        if unknown := set(columns or ()) - known.keys():
            raise ValueError(f"no column {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        self.columns = {title: engine for title, engine in known.items() if columns is None or title in columns}
        self.rows: list[Row] = []
        self.versions: dict[str, dict[str, str]] = {}

    def progress(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def start(self, engine: str, threads: int, writes: bool) -> Engine:
        # Mesa's Vulkan driver for CPUs has its own threads.
        environment = {PEER_PYTHON: python_of(engine), "LP_NUM_THREADS": str(threads)}
        return Engine(engine, python_of(engine, writes), threads, **environment)

    def program(self, engine: str, model: str) -> Path:
        return self.directory / f"{model.replace(' ', '_').replace(',', '')}.{engine}.{declaration(engine).suffix}"

    def write_programs(self, precisions: list[str] | None = None) -> None:
        """Writes missing programs. The reason for a failure is stored in a file beside the program."""
        for model, spec in self.models.items():
            for suffix in (ENDINGS[precision] for precision in precisions or PRECISIONS):
                for engine in (column + suffix for column in self.columns.values()):
                    path = self.program(engine, model)
                    refused = path.with_name(path.name + ".reason")
                    if path.exists() or refused.exists():
                        continue
                    if is_half(engine) and not declaration(engine).half:
                        refused.write_text(NO_HALF)
                        continue
                    self.progress(f"write {model} for {engine}")
                    worker = self.start(engine, 1, writes=True)
                    alarm = Timer(LONGEST_EXPORT, worker.process.kill)
                    alarm.start()
                    try:
                        worker.ask("program", model=spec, output=str(path))
                    except EngineError as error:
                        late = alarm.finished.is_set()
                        refused.write_text(f"no program after {LONGEST_EXPORT} s" if late else error.reason)
                    finally:
                        alarm.cancel()
                        worker.close()

    def measure(self, threads: int, rounds: int, seconds: float, precisions: list[str] | None = None) -> None:
        import numpy as np
        import torch

        for model, spec in self.models.items():
            module, tensors = load_model(spec)
            inputs, expected = self.directory / "inputs.npz", self.directory / "expected.npy"
            np.savez(inputs, *[tensor.numpy() for tensor in tensors])
            with torch.no_grad():
                result = module(*tensors)
            np.save(expected, (result[0] if isinstance(result, tuple) else result).numpy())
            least_peers = min(LEAST_PEERS, len(self.columns) - 1)
            for precision in precisions or PRECISIONS:
                self.progress(f"run {model}, {precision}, {threads} threads")
                row = Row(model, precision, threads, least_peers=least_peers)
                self._measure_row(row, inputs, expected, rounds, seconds)
                self.rows.append(row)

    def _measure_row(self, row: Row, inputs: Path, expected: Path, rounds: int, seconds: float) -> None:
        workers: dict[str, Engine] = {}
        for column, engine in self.columns.items():
            name = engine + ENDINGS[row.precision]
            path = self.program(name, row.model)
            refused = path.with_name(path.name + ".reason")
            if not path.exists():
                row.reasons[column] = refused.read_text() if refused.exists() else "its program was not written"
                continue
            worker = self.start(name, row.threads, writes=False)
            try:
                if column not in self.versions:
                    packages = list(declaration(name).packages)
                    self.versions[column] = worker.ask("versions", packages=packages)
                worker.ask("load", path=str(path), inputs=str(inputs))
                found = worker.ask("check", expected=str(expected))
                if row.precision == "float32" and not found["difference"] <= LARGEST_DIFFERENCE:
                    raise EngineError(f"its result differs by {found['difference']:.2g} of the largest value")
                row.decibels[column] = found["decibels"]
                workers[column] = worker
            except EngineError as error:
                row.reasons[column] = error.reason
                worker.close()
        clock = "cpu" if row.threads == 1 else "wall"
        for turn in range(rounds):
            turns = list(workers.items())
            for column, worker in turns if turn % 2 else turns[::-1]:
                try:
                    sample = worker.ask("run", seconds=seconds)[clock] * 1e3
                except EngineError as error:
                    row.reasons[column] = error.reason
                    row.samples.pop(column, None)
                    del workers[column]
                    continue
                row.samples.setdefault(column, Series()).samples.append(sample)
        for worker in workers.values():
            worker.close()

    def as_json(self) -> dict[str, Any]:
        return {
            "versions": self.versions,
            "rows": [
                {
                    "model": row.model,
                    "precision": row.precision,
                    "threads": row.threads,
                    "reasons": row.reasons,
                    "decibels": row.decibels,
                    "milliseconds": {column: series.samples for column, series in row.samples.items()},
                }
                for row in self.rows
            ],
        }
