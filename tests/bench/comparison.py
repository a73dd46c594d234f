# SPDX-License-Identifier: BSD-3-Clause
"""Compares samples of two engines, and decides which results count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import exp, inf, log, log10
from statistics import median
from typing import Any, Literal

from bench.engines import ImpossibleError

LEAST_DECIBELS = 20.0
"""The least signal-to-noise ratio of an int8 result, in dB. With less, it is wrong and its time does not count."""
LEAST_PEERS = 3
"""The least number of peers that must run a model for it to be part of a mean."""

LARGEST_DIFFERENCE = 0.02
"""The largest difference of a float32 result, relative to the largest value. Above it, a program is not compared."""

Verdict = Literal["ahead", "level", "behind"]


@dataclass
class Series:
    """Samples of one figure of one engine."""

    samples: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return median(self.samples)

    @property
    def lower_quartile(self) -> float:
        """The value by which engines are compared, because other work on the machine only adds time, and only to some
        samples.
        """
        return sorted(self.samples)[len(self.samples) // 4]

    @property
    def upper_quartile(self) -> float:
        return sorted(self.samples)[-1 - len(self.samples) // 4]

    @property
    def spread(self) -> float:
        """Half the interquartile range, relative to the median."""
        return (self.upper_quartile - self.lower_quartile) / 2 / self.median if self.median else 0.0


def verdict(ours: Series, theirs: Series) -> Verdict:
    """Compares the times of two engines; "level" if their interquartile ranges overlap."""
    if ours.upper_quartile < theirs.lower_quartile:
        return "ahead"
    return "behind" if ours.lower_quartile > theirs.upper_quartile else "level"


def signal_to_noise(expected: Any, found: Any) -> float:
    """The SQNR of two arrays of one size, in dB: the power of the expected one over that of the difference."""
    import numpy as np

    expected = np.asarray(expected, dtype=np.float64).ravel()
    noise = float(np.square(np.asarray(found, dtype=np.float64).ravel() - expected).sum())
    signal = float(np.square(expected).sum())
    if not np.isfinite(noise):
        return -inf
    if not noise:
        return inf
    return 10 * log10(signal / noise) if signal else -inf


def decibels_of(expected: Any, found: Any, precision: str) -> float:
    """`signal_to_noise` of a result. Raises ImpossibleError for one of another size, and in float32 for a wrong one."""
    import numpy as np

    expected, found = (np.asarray(array, dtype=np.float64).ravel() for array in (expected, found))
    if found.size != expected.size:
        raise ImpossibleError(f"its result has {found.size} elements, the model's {expected.size}")
    difference = float(np.abs(found - expected).max() / np.abs(expected).max())
    if precision == "float32" and not difference <= LARGEST_DIFFERENCE:
        raise ImpossibleError(f"its result differs by {difference:.2g} of the largest value")
    return signal_to_noise(expected, found)


def geometric_mean(ratios: Iterable[float]) -> float:
    logarithms = [log(ratio) for ratio in ratios]
    return exp(sum(logarithms) / len(logarithms))
