# SPDX-License-Identifier: BSD-3-Clause
"""How long a call takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def milliseconds(call: Callable[[], object], calls: int = 20) -> float:
    """The median of some calls, after one that is not counted: what is made once is made in the first."""
    call()
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3
