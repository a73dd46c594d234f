# SPDX-License-Identifier: BSD-3-Clause
"""Measures of the distance between the runtime's results and expected ones."""

from __future__ import annotations

from sdk.devtools.inspector.numerical_comparator.l1_numerical_comparator import L1Comparator
from sdk.devtools.inspector.numerical_comparator.mse_numerical_comparator import MSEComparator
from sdk.devtools.inspector.numerical_comparator.numerical_comparator_base import (
    DebugHandle,
    IntermediateOutputMapping,
    NumericalComparatorBase,
)
from sdk.devtools.inspector.numerical_comparator.snr_numerical_comparator import SNRComparator

__all__ = [
    "DebugHandle",
    "IntermediateOutputMapping",
    "L1Comparator",
    "MSEComparator",
    "NumericalComparatorBase",
    "SNRComparator",
]
