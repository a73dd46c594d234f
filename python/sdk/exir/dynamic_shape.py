# SPDX-License-Identifier: BSD-3-Clause
"""How memory is planned for tensors whose sizes are only known at run time."""

from __future__ import annotations

from enum import IntEnum


class DynamicMemoryPlanningMode(IntEnum):
    """Which sizes the memory planner sees for a dynamic dimension."""

    UPPER_BOUND = 0
    """Every symbol is replaced by the upper end of its range: one static plan that fits every input."""

    SYMBOLIC = 1
    """Symbols are kept; the memory of dynamic tensors is decided at run time."""
