# SPDX-License-Identifier: BSD-3-Clause
"""Measures several engines together. Each has a process; they take turns, so that only one works at a time, and other
work on the machine disturbs all of them equally.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.comparison import Series
from bench.engines import declaration
from bench.worker import ROOT, load_model


class EngineError(RuntimeError):
    """An engine failed to handle a request."""

    def __init__(self, text: str, reason: str | None = None) -> None:
        super().__init__(text)
        self.reason = reason or text


def accepted(name: str, do: str, answer: dict[str, Any]) -> dict[str, Any]:
    """The answer of the worker `name`; raises the error that it may be."""
    if "error" in answer:
        raise EngineError(f"{name} could not {do}: {answer['error']}", answer["error"])
    return answer


class Worker:
    """A process that answers JSON lines. ``ask`` sends one request and waits for the answer."""

    def __init__(self, name: str, command: list[str], **environment: str) -> None:
        self.name = name
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | environment,
        )

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps({"do": do, **request}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise EngineError(f"{self.name} died during {do!r} (exit code {self.process.wait()})")
        return accepted(self.name, do, json.loads(line))

    def close(self) -> None:
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait()


class Engine(Worker):
    """An engine of `tests/bench/engines` in a separate process."""

    def __init__(self, name: str, python: str, threads: int, **environment: str) -> None:
        command = [python, "-W", "ignore", str(ROOT / "tests/bench/worker.py"), name, str(threads)]
        super().__init__(name, command, **environment)


# Figures that have limits, which tests/interop/test_benchmarked_models.py checks.
LOWERING = "lowering CPU s, after torch.export"
SECOND_LOWERING = "lowering CPU s, second time"
PEAK = "lowering, peak memory / (weights + baseline), at most 1.3"
ARENA = "planned arena bytes"
ALIVE = "most that is alive at once, bytes"

# model -> figure -> engine -> samples
Results = dict[str, dict[str, dict[str, Series]]]


class Harness:
    """Measures ``models`` (label -> file.py:name or zoo:NAME) on ``engines`` (name -> Python) and collects samples."""

    def __init__(
        self, engines: dict[str, str], models: dict[str, str], directory: Path, rounds: int, threads: int
    ) -> None:
        self.engines, self.models, self.directory = engines, models, directory
        self.rounds, self.threads = rounds, threads
        self.results: Results = {}
        self.failures: list[str] = []

    def add(self, model: str, figure: str, engine: str, value: float) -> None:
        self.results.setdefault(model, {}).setdefault(figure, {}).setdefault(engine, Series()).samples.append(value)

    def progress(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def ask_fresh(self, engine: str, do: str, **request: Any) -> dict[str, Any] | None:
        """One request to a new process; a failure is noted and is None."""
        worker = Engine(engine, self.engines[engine], self.threads)
        try:
            return worker.ask(do, **request)
        except EngineError as error:
            if str(error) not in self.failures:
                self.failures.append(str(error))
            return None
        finally:
            worker.close()

    def program(self, engine: str, model: str) -> Path:
        suffix = declaration(engine).suffix
        return self.directory / f"{model.replace('/', '_').replace(':', '.')}.{engine}.{suffix}"

    def measure_import(self) -> None:
        for turn in range(self.rounds):
            self.progress(f"import, round {turn + 1} of {self.rounds}")
            for engine in self.engines:
                answer = self.ask_fresh(engine, "import")
                if answer and declaration(engine).lowers:
                    self.add("import over torch", "CPU s", engine, answer["cpu"])

    def measure_export(self, rounds: int) -> None:
        for model, spec in self.models.items():
            for turn in range(rounds):
                self.progress(f"export {model}, round {turn + 1} of {rounds}")
                for engine in self.engines:
                    answer = self.ask_fresh(engine, "export", model=spec, output=str(self.program(engine, model)))
                    if not answer:
                        continue
                    self.add(model, "export CPU s, compiler's import included", engine, answer["first_cpu"])
                    self.add(model, "export CPU s, second time", engine, answer["again_cpu"])
                    if "arena_bytes" in answer:
                        self.add(model, LOWERING, engine, answer["lowering_cpu"])
                        self.add(model, SECOND_LOWERING, engine, answer["lowering_again_cpu"])
                        self.add(model, ARENA, engine, answer["arena_bytes"])
                    self.add(model, "file bytes", engine, answer["file_bytes"])
            self.measure_lowering_memory(model, spec)

    def measure_lowering(self, rounds: int) -> None:
        """The CPU time of the first lowering of a process, and nothing else."""
        for model, spec in self.models.items():
            for turn in range(rounds):
                self.progress(f"lower {model}, round {turn + 1} of {rounds}")
                for engine in self.engines:
                    answer = self.ask_fresh(engine, "lower", model=spec, output=str(self.program(engine, model)))
                    if answer:
                        self.add(model, LOWERING, engine, answer["cpu"])

    def export_programs(self) -> None:
        """Writes the programs and measures nothing."""
        for model, spec in self.models.items():
            for engine in self.engines:
                self.progress(f"export {model} for {engine}")
                self.ask_fresh(engine, "program", model=spec, output=str(self.program(engine, model)))

    def measure_latencies(self, seconds: float) -> None:
        """Measures only the latencies of existing programs."""
        import numpy as np

        for model, spec in self.models.items():
            inputs = self.directory / "inputs.npz"
            np.savez(inputs, *[tensor.numpy() for tensor in load_model(spec)[1]])
            ready = [e for e in self.engines if self.program(e, model).exists()]
            self.measure_latency(model, ready, inputs, seconds)

    def measure_lowering_memory(self, model: str, spec: str, time: bool = False) -> None:
        """Measures the memory of a lowering and, with `time`, its CPU time. Before that, the process imports the
        compiler and lowers a small model."""
        self.progress(f"memory of {model}")
        for engine in self.engines:
            if not declaration(engine).lowers:
                continue
            answer = self.ask_fresh(engine, "memory", model=spec, output=str(self.program(engine, model)))
            if answer:
                self.add(model, "weight bytes", engine, answer["weight_bytes"])
                self.add(model, "lowering takes bytes", engine, answer["peak_bytes"] - answer["before_bytes"])
                self.add(model, PEAK, engine, answer["peak_bytes"] / answer["before_bytes"])
                if time:
                    self.add(model, SECOND_LOWERING, engine, answer["lowering_cpu"])
                if "alive_bytes" in answer:
                    self.add(model, ALIVE, engine, answer["alive_bytes"])

    def measure_runtime(self, seconds: float) -> None:
        import numpy as np

        for model, spec in self.models.items():
            inputs = self.directory / "inputs.npz"
            np.savez(inputs, *[tensor.numpy() for tensor in load_model(spec)[1]])
            ready = [e for e in self.engines if self.program(e, model).exists()]
            for turn in range(self.rounds):
                self.progress(f"load {model}, round {turn + 1} of {self.rounds}")
                for engine in ready:
                    answer = self.ask_fresh(engine, "load", path=str(self.program(engine, model)), inputs=str(inputs))
                    if answer:
                        self.add(model, "load ms", engine, answer["load"]["cpu"] * 1e3)
                        self.add(model, "first call ms", engine, answer["first"]["cpu"] * 1e3)
                        self.add(model, "peak memory bytes", engine, answer["peak_bytes"])
            self.measure_latency(model, ready, inputs, seconds)

    def measure_latency(self, model: str, ready: list[str], inputs: Path, seconds: float) -> None:
        workers = []
        for engine in ready:
            worker = Engine(engine, self.engines[engine], self.threads)
            try:
                worker.ask("load", path=str(self.program(engine, model)), inputs=str(inputs))
                workers.append(worker)
            except EngineError:  # noted when its load was measured
                worker.close()
        clock = "cpu" if self.threads == 1 else "wall"
        for turn in range(self.rounds):
            self.progress(f"run {model}, round {turn + 1} of {self.rounds}")
            for worker in workers:
                self.add(model, "latency ms", worker.name, worker.ask("run", seconds=seconds)[clock] * 1e3)
        for worker in workers:
            worker.close()
