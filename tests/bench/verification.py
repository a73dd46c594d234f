# SPDX-License-Identifier: BSD-3-Clause
"""The cost of full verification when a program and its method are loaded as applications do: `Module` in C++, from the
path of a file to a method that can be executed.

The figures are CPU times (user and system) of tests/bench/load. It loads a mapped file alternately with
`InternalConsistency`, which verifies the structure of the file, and with `Minimal`, which does not. Both check the
parts of methods while these are loaded. Verification of a file that is read, which is the default of `Module`, costs
the same; the table also has its share of that load.

A round takes the fastest of twenty loads of each kind; the figures are medians of the fastest quarter of the rounds,
because other work of the machine and a temporarily slower processor only add time.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.native import built
from bench.pte import PteEngine

LARGEST_SHARE = 0.05
ROUNDS = 41


@dataclass(frozen=True)
class Cost:
    """Microseconds of loading without verification, from a file that is read and from one that is mapped, and the
    additional time of verification.
    """

    read: float
    mapped: float
    verification: float

    @classmethod
    def of(cls, rounds: list[tuple[float, float, float]]) -> Cost:
        """Computes the cost from the times of each round: read, mapped, mapped and verified."""
        read = min(times[0] for times in rounds)
        quiet = sorted(rounds, key=lambda times: times[1] + times[2])[: -(-len(rounds) // 4)]
        mapped = statistics.median(without for _, without, _ in quiet)
        added = statistics.median(verified - without for _, without, verified in quiet)
        return cls(read, mapped, added)

    @property
    def is_small(self) -> bool:
        return self.verification <= LARGEST_SHARE * min(self.read, self.mapped)


def alone() -> None:
    """Runs on one processor, with a high priority if that is allowed."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -19)


def measure(program: str, path: Path, rounds: int = ROUNDS) -> Cost:
    command = [program, str(rounds), str(path)]
    output = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, preexec_fn=alone).stdout
    return Cost.of([tuple(map(float, line.split())) for line in output.splitlines()])  # type: ignore[misc]


HEAD = "| model | verification µs | load, mapped µs | adds | load, read µs | adds |\n|---|---|---|---|---|---|"


def row(model: str, cost: Cost) -> str:
    ways = " | ".join(f"{way:,.0f} | {cost.verification / way:.1%}" for way in (cost.mapped, cost.read))
    return f"| {model} | {cost.verification:.1f} | {ways} |"


def main(models: dict[str, str]) -> int:
    """Prints a table; 1 when verification adds more than 5 % to either way of loading."""
    program = built("load_time")
    print(HEAD)
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        for label, spec in models.items():
            path = Path(spec)
            if path.suffix != ".pte":
                path = Path(folder) / "model.pte"
                PteEngine("sdk", threads=1).export(spec, str(path))
            cost = measure(program, path)
            print(row(label, cost), flush=True)
            status |= not cost.is_small
    return status
