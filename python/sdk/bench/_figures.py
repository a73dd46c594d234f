# SPDX-License-Identifier: BSD-3-Clause
"""Computes figures from times, and refuses figures for which the clock is not precise enough."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

TICKS = 100
"""The fewest clock ticks that a time must last to become a figure. The clock is wrong by at most one tick at either
end, so the error is at most 2 %."""

_QUANTILES = {1: 636.6, 2: 31.6, 3: 12.92, 4: 8.610, 5: 6.869, 6: 5.959, 7: 5.408, 8: 5.041, 9: 4.781, 10: 4.587}
_QUANTILES |= {11: 4.437, 12: 4.318, 13: 4.221, 14: 4.140, 15: 4.073, 20: 3.850, 30: 3.646, 60: 3.460, 120: 3.373}
"""Student's t, two-sided, 99.9 %, by degrees of freedom."""


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its 99.9 % confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Refusal:
    """A missing figure, with the reason."""

    reason: str


def clock_tick() -> float:
    """The smallest step of the clock, in seconds, as measured."""
    steps = []
    for _ in range(2000):
        start = end = time.perf_counter()
        while end == start:
            end = time.perf_counter()
        steps.append(end - start)
    return min(steps)


def quantile_of_t(degrees: int) -> float:
    """Student's t for 99.9 %. If the table lacks the number of degrees of freedom, the next smaller one is used, which
    makes the interval wider."""
    return _QUANTILES[max(known for known in _QUANTILES if known <= degrees)]


def mean_interval(values: Sequence[float], floor: float = 0.0) -> Interval:
    """The mean of independent values with its confidence interval, which extends at least `floor` to either side.

    Raises ValueError for fewer than two values, which have no spread.
    """
    if len(values) < 2:
        raise ValueError(f"an interval needs two values or more, found {len(values)}")
    mean = statistics.fmean(values)
    half = quantile_of_t(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return Interval(mean, mean - max(half, floor), mean + max(half, floor))


def geometric_interval(values: Sequence[float], floor: float = 0.0) -> Interval:
    """The geometric mean of positive values, such as times and ratios, with its confidence interval. `floor` is
    relative."""
    logs = mean_interval([math.log(value) for value in values], floor)
    return Interval(math.exp(logs.value), math.exp(logs.low), math.exp(logs.high))


def checked(seconds: float, tick: float, what: str) -> float | Refusal:
    """Returns `seconds`, or a `Refusal` if the clock is not precise enough for such a short time."""
    if seconds >= TICKS * tick:
        return seconds
    return Refusal(
        f"{what} took {seconds * 1e9:.0f} ns, less than {TICKS} steps of {tick * 1e9:.0f} ns that this clock takes"
    )


def percentile(values: Sequence[float], percent: float) -> float | Refusal:
    """Returns a percentile, or a `Refusal` if there are too few values for it: at least ten must be beyond it."""
    needed = math.ceil(10 / (min(percent, 100 - percent) / 100))
    if len(values) < needed:
        return Refusal(f"the {percent:g} % percentile needs {needed} samples, there are {len(values)}")
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    low = math.floor(place)
    return ordered[low] + (ordered[min(low + 1, len(ordered) - 1)] - ordered[low]) * (place - low)
