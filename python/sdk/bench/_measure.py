# SPDX-License-Identifier: BSD-3-Clause
"""The order in which processes start and take turns.

Each program runs in several fresh processes, because the addresses of its memory affect its speed. Two programs are
measured in pairs of processes, which take turns. Which one is first alternates from turn to turn, and changes after
every two pairs, so that other load on the machine affects both. A pair gives one ratio, the median over its turns; the
spread of the figure is the spread over pairs.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from sdk.bench._figures import Interval, Refusal, checked, geometric_interval, percentile
from sdk.bench._process import Process, Subject

_FEWEST_TURNS, _MOST_TURNS = 3, 8


@dataclass
class Plan:
    """How long and how often to measure: `seconds` of calls of each program in total, divided among `processes`."""

    processes: int
    seconds: float
    warm_up: float
    threads: int | None
    batch: int | None


@dataclass
class Series:
    """The measurements of one program. Times are in seconds."""

    subject: Subject
    threads: int = 0
    tick: float = 0.0
    batch: int = 1
    medians: list[float] = field(default_factory=list)  # one for each process
    samples: list[float] = field(default_factory=list)
    starts: dict[bool, list[dict[str, Any]]] = field(default_factory=lambda: {True: [], False: []})
    memory: list[int] = field(default_factory=list)
    not_cold: int = 0

    def started(self, answer: dict[str, Any], cold: bool) -> None:
        self.tick = max(self.tick, answer["tick"])
        self.threads = answer["threads"]
        if cold and not answer["cold"]:
            self.not_cold += 1
        else:
            self.starts[cold].append(answer)

    def call(self) -> Interval | Refusal:
        """The time of a call, over the processes."""
        found = checked(min(self.samples) * self.batch, self.tick, f"a sample of {self.batch} calls")
        if isinstance(found, Refusal):
            return Refusal(found.reason + "; leave out --batch")
        return geometric_interval(self.medians, self.floor())

    def percentile(self, percent: float) -> float | Refusal:
        return percentile(self.samples, percent)

    def floor(self) -> float:
        """Returns one step of the clock divided by the duration of a sample."""
        return self.tick / (statistics.median(self.samples) * self.batch)

    def start(self, cold: bool, what: str) -> tuple[float, float, float] | Refusal:
        """Median, minimum and maximum of the starts; `what` is `load`, `first_call` or `start`."""
        times = [answer[what] for answer in self.starts[cold]]
        if not times:
            return Refusal("the system does not take the file out of its memory")
        found = checked(min(times), self.tick, "it")
        return found if isinstance(found, Refusal) else (statistics.median(times), min(times), max(times))


def measure(subjects: Sequence[Subject], plan: Plan) -> tuple[list[Series], list[float]]:
    """Measures one program or two. Returns their series and, for two, the ratio of each pair (second to first)."""
    series = [Series(subject) for subject in subjects]
    ratios = []
    for number in range(plan.processes):
        # Cold and warm starts alternate. The program that starts first changes after one of each.
        cold, turned = number % 2 == 0, number // 2 % 2 == 1
        order = list(range(len(subjects)))[:: -1 if turned else 1]
        with ExitStack() as stack:
            processes = [stack.enter_context(Process(subject)) for subject in subjects]
            for index in order:
                series[index].started(processes[index].start(cold, plan.threads), cold)
            turns = _turns(processes, series, order, plan)
            for index, process in enumerate(processes):
                times = [time for turn in turns for time in turn[index]]
                series[index].samples += times
                series[index].medians.append(statistics.median(times))
                if (memory := process.memory()) is not None:
                    series[index].memory.append(memory)
        if len(subjects) == 2:
            ratios.append(statistics.median(statistics.median(b) / statistics.median(a) for a, b in turns))
    return series, ratios


def _turns(
    processes: Sequence[Process], series: Sequence[Series], order: Sequence[int], plan: Plan
) -> list[list[list[float]]]:
    """The times of each turn, for each program."""
    share = plan.seconds / plan.processes
    longest = 0.0
    for index in order:
        answer = processes[index].measure(0.0, plan.warm_up, plan.batch)
        series[index].batch = answer["batch"]
        longest = max(longest, answer["seconds"][0] * answer["batch"])
    count = max(_FEWEST_TURNS, min(_MOST_TURNS, int(share / longest))) if longest else _MOST_TURNS
    turns = []
    for turn in range(count):
        times: list[list[float]] = [[] for _ in processes]
        for index in order[:: 1 if turn % 2 == 0 else -1]:
            times[index] = processes[index].measure(share / count)["seconds"]
        turns.append(times)
    return turns


def ratio(series: Sequence[Series], ratios: Sequence[float]) -> Interval | Refusal:
    """The time of the second program, divided by the first one's."""
    for one in series:
        call = one.call()
        if isinstance(call, Refusal):
            return call
    return geometric_interval(ratios, max(one.floor() for one in series))
