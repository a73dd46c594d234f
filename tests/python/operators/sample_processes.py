# SPDX-License-Identifier: BSD-3-Clause
"""Examines PyTorch's samples of many functions in processes, for scripts/operator_samples."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait

from sample_program import RIGHT
from sample_table import EXCEPTIONS, Result, Task, examine


def examine_all(tasks: Sequence[Task], jobs: int, limit: float, within: float) -> Iterator[Result]:
    """The results, in the order in which they are ready, each from a separate process. A task that crashes, or takes
    more than `limit` seconds, has a result as well; no task is begun after `within` seconds."""
    waiting, last = list(reversed(tasks)), time.monotonic() + within
    running: dict[Connection, tuple[Task, multiprocessing.Process, float]] = {}
    context = multiprocessing.get_context("fork")
    while True:
        while waiting and len(running) < jobs and time.monotonic() < last:
            task = waiting.pop()
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_examine, args=(task, theirs))
            process.start()
            theirs.close()
            running[ours] = task, process, time.monotonic() + limit
        if not running:
            return
        ready = wait(list(running), timeout=0.1)
        for connection, (task, process, end) in list(running.items()):
            if connection in ready:
                try:
                    yield connection.recv()
                except EOFError:
                    process.join()
                    yield Result(task, failure=f"the process ended with {process.exitcode}")
            elif time.monotonic() > end:
                process.kill()
                yield Result(task, failure=f"not done after {limit:.0f} s")
            else:
                continue
            process.join()
            del running[connection]


def _examine(task: Task, connection: Connection) -> None:
    # The output of libraries and the log of the runtime would hide the results.
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    connection.send(examine(task))


def report(result: Result) -> None:
    """Prints a line for the function, and one for each way in which samples fail unexpectedly."""
    task = result.task
    total = sum(sum(counts.values()) for counts in result.counts.values())
    print(f"{task.function}: {total:.0f} samples, {result.seconds:.1f} s {result.failure}", flush=True)
    expected = EXCEPTIONS.get(task.function, ("", ""))[0]
    shown = set()
    for dtype, kind, reason, arguments in result.errors:
        if kind != expected and (dtype, kind) not in shown:
            shown.add((dtype, kind))
            where = "only alone " if kind == RIGHT else ""
            print(f"  {dtype} {where}{kind}: {task.function}({arguments[:300]})\n    {reason}", flush=True)
