# SPDX-License-Identifier: BSD-3-Clause
"""What full verification adds to loading a program and its method.

Its cost is the difference between loading a program and its method, from a mapped file, with `InternalConsistency` and
with `Minimal`, in turns: with the first the structure of the file is verified. What methods consist of is checked while
they are loaded, with either. It is compared with loading without verification in two ways: from a file that is read, as
the C++ Module does by default, and from one that is mapped, where nothing of the weights is touched before the method
runs. CPU time of the calling thread, reading from the page cache included; medians.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

LARGEST_SHARE = 0.05
SAMPLES = 300

WORKER = """
import json, statistics, sys, time
from pathlib import Path
from sdk.runtime import Runtime, Verification
path, samples = Path(sys.argv[1]), int(sys.argv[2])
runtime = Runtime.get()

def microseconds(level, read=False):
    start = time.thread_time_ns()
    program = runtime.load_program(path.read_bytes() if read else path, verification=level)
    method = program.load_method("forward")
    return (time.thread_time_ns() - start) / 1000

levels = [Verification.Minimal, Verification.InternalConsistency]
times = {level: [] for level in levels}
for turn in range(samples):
    for level in levels if turn % 2 else reversed(levels):
        times[level].append(microseconds(level))
minimal, full = (statistics.median(times[level]) for level in levels)
read = statistics.median(microseconds(levels[0], read=True) for _ in range(samples // 10))
print(json.dumps([full - minimal, read, minimal]))
"""


@dataclass(frozen=True)
class Cost:
    """Microseconds: what verification takes, and loading without it from a file that is read and one that is mapped."""

    verification: float
    read: float
    mapped: float


def measure(path: Path, samples: int = SAMPLES) -> Cost:
    command = [sys.executable, "-W", "ignore", "-c", WORKER, str(path), str(samples)]
    output = subprocess.run(command, check=True, text=True, capture_output=True).stdout
    return Cost(*json.loads(output.splitlines()[-1]))


def row(model: str, cost: Cost) -> str:
    ways = " | ".join(f"{way:.0f} | {cost.verification / way:.1%}" for way in (cost.read, cost.mapped))
    return f"| {model} | {cost.verification:.0f} | {ways} |"


def main(models: dict[str, str]) -> int:
    """Prints a table; 1 when verification adds more than 5 % to either way of loading."""
    from bench.worker import PteEngine

    print("| model | verification µs | load, read µs | adds | load, mapped µs | adds |\n|---|---|---|---|---|---|")
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        for label, spec in models.items():
            path = Path(folder) / "model.pte"
            PteEngine("sdk").export(spec, str(path))
            cost = measure(path)
            print(row(label, cost), flush=True)
            status |= cost.verification > LARGEST_SHARE * min(cost.read, cost.mapped)
    return status
