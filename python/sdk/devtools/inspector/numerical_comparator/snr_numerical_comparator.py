# SPDX-License-Identifier: BSD-3-Clause
"""`SNRComparator`, for `Inspector.calculate_numeric_gap`."""

from __future__ import annotations

from typing import Any

from sdk.devtools.inspector._distance import snr
from sdk.devtools.inspector.numerical_comparator.numerical_comparator_base import NumericalComparatorBase


class SNRComparator(NumericalComparatorBase):
    """The signal-to-noise ratio in dB, infinite where nothing differs. Eager mode is the signal."""

    def element_compare(self, a: Any, b: Any) -> float:
        return snr(a, b)
