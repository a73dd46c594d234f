# SPDX-License-Identifier: BSD-3-Clause
"""Reads hostile files for a time, in Python: one after another, within bounds of time and memory."""

from __future__ import annotations

import collections
import random
import resource
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

SECONDS_A_FILE = 20


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"the file took more than {SECONDS_A_FILE} seconds of CPU")


def drive(
    make: Callable[[random.Random], bytes],
    read: Callable[[Path], str],
    suffix: str,
    memory: int,
    arguments: list[str],
) -> int:
    """The command `SECONDS FOLDER [SEED]`: reads what `make` makes, until the time is over. Returns the exit status.

    `read` says what a file was. Files that raise an exception stay in FOLDER. `memory` is in bytes.
    """
    seconds, folder, first = float(arguments[0]), Path(arguments[1]), int(arguments[2]) if len(arguments) > 2 else 0
    folder.mkdir(parents=True, exist_ok=True)
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + memory, resource.getrlimit(resource.RLIMIT_AS)[1]))
    signal.signal(signal.SIGPROF, _too_long)
    path, results, found = folder / f"now{suffix}", collections.Counter[str](), collections.Counter[str]()
    end, seed = time.monotonic() + seconds, first
    while time.monotonic() < end:
        # A crash of the process leaves the file.
        path.write_bytes(make(random.Random(seed)))
        signal.setitimer(signal.ITIMER_PROF, SECONDS_A_FILE)
        try:
            results[read(path)] += 1
        except Exception as error:
            signal.setitimer(signal.ITIMER_PROF, 0)
            at = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{type(error).__name__} {Path(at.filename).name}:{at.lineno}"
            if not found[where]:
                path.rename(folder / f"{seed}{suffix}")
                print(f"seed {seed}, {where}: {str(error)[:300]}", flush=True)
            found[where] += 1
        signal.setitimer(signal.ITIMER_PROF, 0)
        seed += 1
    path.unlink(missing_ok=True)
    print(f"{seed - first} files in {time.process_time():.0f} s of CPU: {dict(results)}, found: {dict(found)}")
    return 1 if found else 0
