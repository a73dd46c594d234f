# SPDX-License-Identifier: BSD-3-Clause
"""Units of time."""

from __future__ import annotations

from enum import Enum


class TimeScale(Enum):
    """A unit of time; cycles have no length."""

    NS = "ns"
    US = "us"
    MS = "ms"
    S = "s"
    CYCLES = "cycles"


_PER_SECOND = {TimeScale.NS: 1e9, TimeScale.US: 1e6, TimeScale.MS: 1e3, TimeScale.S: 1.0}


def calculate_time_scale_factor(source_time_scale: TimeScale, target_time_scale: TimeScale) -> float:
    """The divisor that converts a time from the source's unit to the target's: 1e6 from NS to MS.

    Raises ValueError if only one of them is in cycles.
    """
    if source_time_scale == target_time_scale:
        return 1.0
    if TimeScale.CYCLES in (source_time_scale, target_time_scale):
        raise ValueError(
            f"cycles have no length in seconds: expected the same TimeScale twice, found {source_time_scale} and "
            f"{target_time_scale}; pass source_time_scale=TimeScale.CYCLES and target_time_scale=TimeScale.CYCLES"
        )
    return _PER_SECOND[source_time_scale] / _PER_SECOND[target_time_scale]
