# SPDX-License-Identifier: BSD-3-Clause
"""`MSEComparator`, for `Inspector.calculate_numeric_gap`."""

from __future__ import annotations

from typing import Any

from sdk.devtools.inspector._distance import mse
from sdk.devtools.inspector.numerical_comparator.numerical_comparator_base import NumericalComparatorBase


class MSEComparator(NumericalComparatorBase):
    """The mean of the squared differences."""

    def element_compare(self, a: Any, b: Any) -> float:
        return mse(a, b)
