# SPDX-License-Identifier: BSD-3-Clause
"""One engine in one process. It reads requests as JSON lines from standard input and writes answers to standard output.

Requests: ``{"do": "versions" | "import" | "export" | "memory" | "load" | "check" | "run", ...}``. CPU times are
seconds; of the whole process for imports, exports and runs, of the calling thread for loads. Memory is bytes of
resident set at its peak since the request began, over the resident set just before it.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SETTLING_SECONDS = 0.1  # threads of the previous engine still spin for about 30 ms
PEAK_RESET = "5"  # proc(5): writing 5 to clear_refs resets the peak resident set


def resident(field: str) -> int:
    """Bytes of ``VmRSS`` (now) or ``VmHWM`` (peak)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


class Clock:
    """Wall and CPU seconds, and peak memory, of a block."""

    def __init__(self, cpu: Callable[[], float] = time.process_time) -> None:
        self.cpu_now = cpu

    def __enter__(self) -> Clock:
        Path("/proc/self/clear_refs").write_text(PEAK_RESET)
        self.before = resident("VmRSS")
        self.start, self.cpu_start = time.perf_counter(), self.cpu_now()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu, self.wall = self.cpu_now() - self.cpu_start, time.perf_counter() - self.start
        self.peak = resident("VmHWM") - self.before

    def figures(self) -> dict[str, float]:
        return {"cpu": self.cpu, "wall": self.wall, "peak_bytes": self.peak}


def load_model(spec: str) -> tuple[Any, tuple[Any, ...]]:
    """The module in evaluation mode and its example inputs: ``zoo:NAME``, ``bench:NAME`` (from bench.models),
    ``library:NAME`` (from bench.full_size) or ``path/to/file.py:name``."""
    import torch

    torch.manual_seed(0)
    if str(ROOT / "tests") not in sys.path:
        sys.path.insert(0, str(ROOT / "tests"))
    where, _, name = spec.partition(":")
    if where == "zoo":
        method = importlib.import_module("zoo").build(name).methods["forward"]
        return method.module, method.calls[0]
    if where == "bench":
        model, inputs = getattr(importlib.import_module("bench.models"), name)()
        return model.eval(), inputs
    if where == "library":
        model, inputs = importlib.import_module("bench.full_size").make(name)
        return model, inputs
    found = importlib.util.spec_from_file_location("bench_model", ROOT / where)
    assert found and found.loader, f"{where} is not a Python file"
    module = importlib.util.module_from_spec(found)
    sys.path.insert(0, str((ROOT / where).parent))
    found.loader.exec_module(module)
    return getattr(module, name)().eval(), module.example_inputs()


class Worker:
    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.call: Callable[[], Any] = lambda: None

    def answer(self, do: str, **request: Any) -> dict[str, Any]:
        """Returns the result of the method `do_DO`, or, if it raises an exception, a dict with `error`."""
        try:
            return getattr(self, f"do_{do}")(**request)
        except Exception as error:
            kind = "" if type(error).__name__ == "ImpossibleError" else f"{type(error).__name__}: "
            return {"error": f"{kind}{error}"[:500]}

    def do_versions(self, packages: list[str]) -> dict[str, Any]:
        """The versions of those packages that are installed."""
        found = {}
        for package in packages:
            try:
                found[package] = importlib.metadata.version(package)
            except importlib.metadata.PackageNotFoundError:
                continue
        return found

    def do_import(self) -> dict[str, Any]:
        """Measures the time of importing the compiler after torch."""
        import torch  # noqa: F401

        with Clock() as clock:
            self.engine.compiler()
        return clock.figures()

    def do_export(self, model: str, output: str) -> dict[str, Any]:
        """The time of two exports after ``import torch``: of the first one, and of one when everything is imported."""
        import torch  # noqa: F401

        with Clock() as first:
            figures = self.engine.export(model, output)
        with Clock() as again:
            again_figures = self.engine.export(model, output)
        if "lowering_cpu" in figures:
            figures["lowering_again_cpu"] = again_figures["lowering_cpu"]
        return {**figures, "first_cpu": first.cpu, "again_cpu": again.cpu}

    def do_program(self, model: str, output: str, eager: str = "") -> dict[str, Any]:
        """Only writes the program, and the captured model's results in PyTorch to the file `eager`."""
        self.engine.export(model, output, **({"eager": eager} if eager else {}))
        return {}

    def do_lower(self, model: str, output: str) -> dict[str, Any]:
        """CPU time of the first lowering of a process, including its imports."""
        return {"cpu": self.engine.export(model, output)["lowering_cpu"]}

    def do_memory(self, model: str, output: str) -> dict[str, Any]:
        """The memory of lowering, without the weights and the imported modules."""
        return self.engine.memory(model, output)

    def do_load(self, path: str, inputs: str) -> dict[str, Any]:
        """Load and make the first call, after the imports. Memory covers both, as an application sees its start."""
        import numpy as np

        arrays = list(np.load(inputs).values())
        self.engine.prepare()
        with Clock(time.thread_time) as both:
            with Clock(time.thread_time) as load:
                self.call = self.engine.load(path, arrays)
            with Clock(time.thread_time) as first:
                self.call()
        # The inner clocks reset the peak, so the whole is the larger of the two over the first baseline.
        peak = max(load.peak + load.before, first.peak + first.before) - both.before
        return {"load": load.figures(), "first": first.figures(), "peak_bytes": peak}

    def do_check(self, expected: str) -> dict[str, Any]:
        """Compares the first output with the array in the file ``expected``: the largest difference as a share of the
        largest value, and the signal over the noise in decibels."""
        import numpy as np

        from bench.comparison import signal_to_noise

        right = np.load(expected)
        found = np.asarray(self.engine.first_result(self.call()), dtype=np.float64)
        if found.size != right.size:
            raise ValueError(f"its result has shape {found.shape}, the model's {right.shape}")
        difference = float(np.abs(found.reshape(right.shape) - right).max() / np.abs(right).max())
        return {"difference": difference, "decibels": signal_to_noise(right, found)}

    def do_run(self, seconds: float) -> dict[str, Any]:
        """Calls for at least ``seconds``, after a tenth of that to warm up: CPU seconds of the process and wall seconds
        of a call."""
        time.sleep(SETTLING_SECONDS)
        warm = time.perf_counter() + seconds / 10
        while time.perf_counter() < warm:
            self.call()
        cpu, wall, count = time.process_time(), time.perf_counter(), 0
        while time.perf_counter() - wall < seconds:
            self.call()
            count += 1
        return {
            "cpu": (time.process_time() - cpu) / count,
            "wall": (time.perf_counter() - wall) / count,
            "calls": count,
        }


def main() -> None:
    # Libraries print to the standard output, so the answers get a separate descriptor.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(ROOT / "tests"))
    from bench.engines import declaration

    name, threads = sys.argv[1], int(sys.argv[2])
    worker = Worker(declaration(name).make(name, threads))
    for line in sys.stdin:
        print(json.dumps(worker.answer(**json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
