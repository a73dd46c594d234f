# SPDX-License-Identifier: BSD-3-Clause
"""One process, in which one program starts and runs. It reads a JSON object from each line of its input, and answers
with one.

`start`    loads the program and calls its method once
`measure`  calls it for some time, in batches
`memory`   returns by how much the peak of the resident memory exceeds that before the start
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from sdk.bench._figures import TICKS, clock_tick
from sdk.command.memory import peak_memory, reset_peak_memory
from sdk.runtime import Runtime


class Worker:
    """The state between requests."""

    def __init__(self) -> None:
        self.tick = clock_tick()
        self.idle: int | None = None
        self.method: Any = None
        self.inputs: Any = None
        self.batch = 1

    def start(self, request: dict[str, Any]) -> dict[str, Any]:
        """Loads the inputs, then measures loading the program, preparing the method and the first call."""
        from sdk.extension.pybindings import portable_lib

        if request["threads"] is not None:
            portable_lib._unsafe_reset_threadpool(request["threads"])
        self.inputs = read_values(Path(request["inputs"]))
        files = [Path(path) for path in (request["program"], *request["data"])]
        cold = bool(request["cold"]) and False not in [evict(file) for file in files]
        if not request["cold"]:
            for file in files:
                file.read_bytes()
        gc.collect()
        self.idle = reset_peak_memory()
        start = time.perf_counter()
        program = Runtime.get().load_program(files[0], data_map=files[1:] or None)
        self.method = program.load_method(request["method"])
        loaded = time.perf_counter()
        self.method.execute(self.inputs)
        end = time.perf_counter()
        return {
            "tick": self.tick,
            "cold": cold,
            "load": loaded - start,
            "first_call": end - loaded,
            "start": end - start,
            "threads": portable_lib._threadpool_get_thread_count(),
        }

    def measure(self, request: dict[str, Any]) -> dict[str, Any]:
        """Calls the method for at least `seconds`. Returns the seconds of a call, one number for each batch of calls.

        Before that, it calls the method for `warm_up` seconds, and chooses `batch` if that is None.
        """
        execute, inputs, now = self.method.execute, self.inputs, time.perf_counter
        if request["warm_up"] > 0:
            times: list[float] = []
            end = now() + request["warm_up"]
            while len(times) < 3 or now() < end:
                start = now()
                execute(inputs)
                times.append(now() - start)
            # A hundred times the minimum for a figure: reading the clock then takes a negligible part of a batch.
            self.batch = request["batch"] or max(1, round(100 * TICKS * self.tick / statistics.median(times)))
        batches: list[float] = []
        end = now() + request["seconds"]
        while not batches or now() < end:
            start = now()
            for _ in range(self.batch):
                execute(inputs)
            batches.append((now() - start) / self.batch)
        return {"seconds": batches, "batch": self.batch}

    def memory(self, _: dict[str, Any]) -> dict[str, Any]:
        """Bytes in addition to the memory of the process before it loaded the program; None if the system does not
        say."""
        now = peak_memory()
        return {"bytes": None if now is None or self.idle is None else max(now - self.idle, 0)}


def read_values(path: Path) -> list[Any]:
    """Reads the inputs that the command has written: `values.json` describes each, and arrays are in files beside
    it."""
    values: list[Any] = []
    for entry in json.loads(path.read_text()):
        if entry["kind"] == "array":
            import numpy as np

            values.append(np.load(path.with_name(entry["file"]), allow_pickle=False))
        elif entry["kind"] == "tensor":
            import torch

            values.append(torch.load(path.with_name(entry["file"]), weights_only=True))
        else:
            values.append(entry["value"])
    return values


def evict(file: Path) -> bool:
    """Drops a file from the page cache. Returns whether the system confirms that it was dropped."""
    if not hasattr(os, "posix_fadvise") or not hasattr(os, "RWF_NOWAIT"):
        return False
    with file.open("rb") as opened:
        os.fsync(opened.fileno())  # pages that are not written yet cannot be dropped
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        try:
            os.preadv(opened.fileno(), [bytearray(1)], 0, os.RWF_NOWAIT)
        except BlockingIOError:
            return True  # reading it would wait for the disk
        except OSError:
            return False
    return False


def main() -> None:
    """Answers requests until the input ends."""
    worker = Worker()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the output of libraries must not mix with the answers
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request["do"])(request)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
