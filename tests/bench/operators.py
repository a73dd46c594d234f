# SPDX-License-Identifier: BSD-3-Clause
"""The time of each operator of a model, from the events of a build with the event tracer."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.native import built, option_of
from bench.peer_table import PeerTable

HEAD = "| model | operator | calls | ms | share |\n|---|---|---|---|---|"
MOST = 5  # rows of a model
KERNEL, DELEGATE = "OPERATOR_CALL", "DELEGATE_CALL"  # the runtime's own events


@dataclass(frozen=True)
class Event:
    """An operator: its seconds in the fastest execution of it, its debug handle (-1 for none), and its name."""

    seconds: float
    handle: int
    name: str


def trace(program: Path, seconds: float, backend: str) -> tuple[float, list[Event]]:
    """Seconds of the fastest execution, and its events, from a build with `backend`."""
    binary = built("operator_times", option_of(backend), "EXECUTORCH_ENABLE_EVENT_TRACER", folder="bench-profile")
    command = [binary, str(program), str(seconds)]
    first, *lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    events = [line.split("\t") for line in lines]
    return float(first.split("\t")[1]), [Event(float(taken), int(handle), name) for taken, handle, name in events]


def by_name(events: list[Event]) -> dict[str, tuple[int, float]]:
    """The number and the seconds of operators with the same name, most time first. One entry is the time of delegates
    outside of their operators.
    """
    sums: dict[str, tuple[int, float]] = {}
    inside = sum(event.seconds for event in events if event.name not in (KERNEL, DELEGATE))
    for event in events:
        name = {KERNEL: "kernels outside of delegates", DELEGATE: "delegates, beside their operators"}.get(event.name)
        calls, seconds = sums.get(name or event.name, (0, 0.0))
        sums[name or event.name] = (calls + 1, seconds + event.seconds)
        if event.name == DELEGATE:
            sums[name or event.name] = (calls + 1, seconds + event.seconds - inside)
            inside = 0.0
    return dict(sorted(sums.items(), key=lambda item: -item[1][1]))


def measure(table: PeerTable, seconds: float) -> Iterator[str]:
    """Rows of the models whose programs `table` has written."""
    yield HEAD
    for model in table.models:
        program = table.program(table.ours, model)
        if model == "peak" or not program.exists():
            continue
        table.progress(f"the operators of {model}")
        whole, events = trace(program, seconds, table.backend)
        for name, (calls, taken) in list(by_name(events).items())[:MOST]:
            yield f"| {model} | {name} | {calls} | {taken * 1e3:.3g} | {taken / whole:.2f} |"
