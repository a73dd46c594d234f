# SPDX-License-Identifier: BSD-3-Clause
"""Measures the time of a call."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def milliseconds(call: Callable[[], object], calls: int = 20) -> float:
    """The median of several calls, after a first one that is not counted because it initialises things."""
    call()
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3
