# SPDX-License-Identifier: BSD-3-Clause
"""Reads hostile files for a time, in Python: one after another, within bounds of time, memory and stack."""

from __future__ import annotations

import collections
import os
import random
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.worker import Clock, resident

SECONDS_A_FILE = 20
MEMORY = 256 << 20
"""Bytes that reading one file may take."""
STACK = 512 << 10
"""The size in bytes of the stack on which files are read, which is that of a thread on a phone."""
ADDRESSES = 8 << 30
"""Bytes by which the process may grow, whatever the files are."""


def drive(
    make: Callable[[random.Random], bytes], read: Callable[[Path], str], suffix: str, arguments: list[str]
) -> int:
    """The command `SECONDS FOLDER [SEED]`: reads files from `make` until the time is over. Returns the exit status.

    `read` says what a file was; it is called for one file before anything is measured. Files that raise an exception
    stay in FOLDER, and so does the one that ends the process, as `now`.
    """
    seconds, folder, first = float(arguments[0]), Path(arguments[1]), int(arguments[2]) if len(arguments) > 2 else 0
    folder.mkdir(parents=True, exist_ok=True)
    path, status = folder / f"now{suffix}", 1

    def too_long(*_: Any) -> None:
        # The main thread cannot raise an exception in the one that reads.
        print(f"{path} took more than {SECONDS_A_FILE} seconds of CPU", flush=True)
        os._exit(1)

    def run() -> None:
        nonlocal status
        status = _run(make, read, path, time.monotonic() + seconds, first)

    limit = resident("VmSize") + ADDRESSES
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
    signal.signal(signal.SIGPROF, too_long)
    before = threading.stack_size(STACK)
    thread = threading.Thread(target=run)
    thread.start()
    threading.stack_size(before)
    while thread.is_alive():
        thread.join(0.5)  # a handler of a signal runs between calls
    return status


def _run(
    make: Callable[[random.Random], bytes], read: Callable[[Path], str], path: Path, end: float, first: int
) -> int:
    results, found = collections.Counter[str](), collections.Counter[str]()
    seed = first
    while seed == first or time.monotonic() < end:
        path.write_bytes(make(random.Random(seed)))
        signal.setitimer(signal.ITIMER_PROF, SECONDS_A_FILE)
        try:
            with Clock() as clock:
                results[read(path)] += 1
            if clock.peak > MEMORY:
                raise MemoryError(f"the file took {clock.peak >> 20} MiB")
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{type(error).__name__} {Path(at.filename).name}:{at.lineno}"
            if not found[where]:
                path.rename(path.with_stem(str(seed)))
                print(f"seed {seed}, {where}: {str(error)[:300]}", flush=True)
            found[where] += 1
        signal.setitimer(signal.ITIMER_PROF, 0)
        seed += 1
    path.unlink(missing_ok=True)
    print(f"{seed - first} files in {time.process_time():.0f} s of CPU: {dict(results)}, found: {dict(found)}")
    sys.stdout.flush()
    return 1 if found else 0
