# SPDX-License-Identifier: BSD-3-Clause
"""The calls that the conformance suite makes, operator by operator, at sizes that models have."""

from __future__ import annotations

from backends.cases import indexing, matrix, normalization, pointwise, reduction, shape, window
from backends.cases.call import (
    OPERATORS,
    Call,
    Calls,
    Size,
    Sliced,
    Weight,
    call,
    call_of,
    calls_of,
    overload_of,
    within,
)

__all__ = [
    "OPERATORS",
    "Call",
    "Calls",
    "Size",
    "Sliced",
    "Weight",
    "call",
    "call_of",
    "calls_of",
    "indexing",
    "matrix",
    "normalization",
    "overload_of",
    "pointwise",
    "reduction",
    "shape",
    "window",
    "within",
]
