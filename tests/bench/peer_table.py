# SPDX-License-Identifier: BSD-3-Clause
"""This SDK's XNNPACK backend beside all peers that can run a model: float32 and 8 bits, one thread and two."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from math import exp, log
from pathlib import Path
from threading import Timer
from typing import Any

from bench.harness import Engine, EngineError, Series
from bench.peers import PEER_PYTHON, SUFFIXES, converts_itself, peer_of, python_of_peer
from bench.worker import ROOT, load_model

COLUMNS = {
    "sdk": "sdk-xnnpack",
    "original": "original-xnnpack",
    "onnxruntime": "onnxruntime",
    "LiteRT": "litert",
    "ncnn": "ncnn",
    "MNN": "mnn",
}
PRECISIONS = {"float32": "", "int8": "-int8"}
LARGEST_DIFFERENCE = 0.02  # of the largest value, in float32: who computes something else is not compared
REASON_LENGTH = 80
LONGEST_EXPORT = 1200  # seconds that writing a program may take


@dataclass
class Row:
    """The samples of each column, in milliseconds, or why there are none."""

    model: str
    precision: str
    threads: int
    samples: dict[str, Series] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def fastest_peer(self) -> tuple[str, float] | None:
        peers = {column: series.undisturbed for column, series in self.samples.items() if column != "sdk"}
        return min(peers.items(), key=lambda item: item[1]) if peers else None

    def advantage(self) -> float | None:
        """How many times as fast as the fastest peer this SDK is."""
        fastest = self.fastest_peer()
        return fastest[1] / self.samples["sdk"].undisturbed if fastest and "sdk" in self.samples else None


class PeerTable:
    """Writes the programs of `models` into `directory`, where they stay, and measures them in turns.

    Args:
        python: Runs this SDK.
        oracle: Runs the original and onnxruntime, and writes what ncnn and MNN convert.
        columns: Of `COLUMNS`; all by default.
    """

    def __init__(
        self, models: dict[str, str], directory: Path, python: str, oracle: str, columns: list[str] | None = None
    ) -> None:
        self.models, self.directory, self.python, self.oracle = models, directory, python, oracle
        self.columns = {name: engine for name, engine in COLUMNS.items() if columns is None or name in columns}
        self.peers = {p: python_of_peer(ROOT, p) for c in self.columns.values() if (p := peer_of(c)) is not None}
        self.rows: list[Row] = []

    def progress(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def start(self, engine: str, threads: int, writes: bool) -> Engine:
        peer = peer_of(engine)
        if peer is None:
            return Engine(engine, self.python if engine.startswith("sdk") else self.oracle, threads)
        own = not writes or converts_itself(engine)
        return Engine(engine, self.peers[peer] if own else self.oracle, threads, **{PEER_PYTHON: self.peers[peer]})

    def program(self, engine: str, model: str) -> Path:
        suffix = SUFFIXES.get(peer_of(engine) or "", "onnx" if engine.startswith("onnx") else "pte")
        return self.directory / f"{model.replace(' ', '_').replace(',', '')}.{engine}.{suffix}"

    def write_programs(self, precisions: list[str] | None = None) -> None:
        """Whatever is not there yet; the reason of a failure is kept beside the place of its program."""
        for model, spec in self.models.items():
            for suffix in (PRECISIONS[precision] for precision in precisions or PRECISIONS):
                for engine in (column + suffix for column in self.columns.values()):
                    path = self.program(engine, model)
                    refused = path.with_name(path.name + ".reason")
                    if path.exists() or refused.exists():
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

    def measure(self, threads: int, rounds: int, seconds: float) -> None:
        import numpy as np
        import torch

        for model, spec in self.models.items():
            module, tensors = load_model(spec)
            inputs, expected = self.directory / "inputs.npz", self.directory / "expected.npy"
            np.savez(inputs, *[tensor.numpy() for tensor in tensors])
            with torch.no_grad():
                result = module(*tensors)
            np.save(expected, (result[0] if isinstance(result, tuple) else result).numpy())
            for precision in PRECISIONS:
                self.progress(f"run {model}, {precision}, {threads} threads")
                row = Row(model, precision, threads)
                self.rows.append(row)
                self._measure_row(row, inputs, expected, rounds, seconds)

    def _measure_row(self, row: Row, inputs: Path, expected: Path, rounds: int, seconds: float) -> None:
        workers: dict[str, Engine] = {}
        for column, engine in self.columns.items():
            name = engine + PRECISIONS[row.precision]
            path = self.program(name, row.model)
            refused = path.with_name(path.name + ".reason")
            if not path.exists():
                row.reasons[column] = refused.read_text() if refused.exists() else "its program was not written"
                continue
            worker = self.start(name, row.threads, writes=False)
            try:
                worker.ask("load", path=str(path), inputs=str(inputs))
                difference = worker.ask("check", expected=str(expected))["difference"]
                if row.precision == "float32" and not difference <= LARGEST_DIFFERENCE:
                    raise EngineError(f"its result is {difference:.2g} off, of the largest value")
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

    def markdown(self) -> str:
        head = ["model", "numbers", "threads", *self.columns, "sdk over fastest peer"]
        lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        for row in self.rows:
            fastest = row.fastest_peer()
            advantage = row.advantage()
            last = f"**{advantage:.2f}** ({fastest[0]})" if fastest and advantage else "–"
            cells = [self._cell(row, column) for column in self.columns]
            lines.append("| " + " | ".join([row.model, row.precision, str(row.threads), *cells, last]) + " |")
        return "\n".join(lines) + "\n\n" + self.summary()

    def _cell(self, row: Row, column: str) -> str:
        if series := row.samples.get(column):
            spread = f" ±{series.spread:.0%}" if series.spread >= 0.005 else ""
            return f"{series.undisturbed:.3g}{spread}"
        reason = " ".join(row.reasons[column].replace("|", "/").replace("`", "'").replace("<", "(").split())
        short = reason if len(reason) <= REASON_LENGTH else reason[: REASON_LENGTH - 1] + "…"
        return f"cannot: {short}"

    def summary(self) -> str:
        """Geometric means over the models, a line a precision and number of threads."""
        lines = []
        for precision, threads in dict.fromkeys((row.precision, row.threads) for row in self.rows):
            rows = [row for row in self.rows if (row.precision, row.threads) == (precision, threads)]
            found = [advantage for row in rows if (advantage := row.advantage())]
            if found:
                mean = exp(sum(map(log, found)) / len(found))
                label = f"{precision}, {threads} thread{'s' if threads > 1 else ''}"
                lines.append(f"- {label}: {mean:.2f} times as fast as the fastest peer of each of {len(found)} models,")
                lines.append(f"  {sum(f >= 1 for f in found)} of them at least as fast")
        return "Geometric means:\n\n" + "\n".join(lines) + "\n" if lines else ""

    def as_json(self) -> list[dict[str, Any]]:
        return [
            {
                "model": row.model,
                "precision": row.precision,
                "threads": row.threads,
                "reasons": row.reasons,
                "milliseconds": {column: series.samples for column, series in row.samples.items()},
            }
            for row in self.rows
        ]
