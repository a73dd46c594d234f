# SPDX-License-Identifier: BSD-3-Clause
"""`L1Comparator`, for `Inspector.calculate_numeric_gap`."""

from __future__ import annotations

from typing import Any

from sdk.devtools.inspector._distance import l1
from sdk.devtools.inspector.numerical_comparator.numerical_comparator_base import NumericalComparatorBase


class L1Comparator(NumericalComparatorBase):
    """The sum of the absolute differences."""

    def element_compare(self, a: Any, b: Any) -> float:
        return l1(a, b)
