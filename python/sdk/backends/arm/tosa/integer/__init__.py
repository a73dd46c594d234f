# SPDX-License-Identifier: BSD-3-Clause
"""Lowers quantised operators to TOSA's integer operators."""

from sdk.backends.arm.tosa.integer import elementwise, moves, normalization, products, softmax  # noqa: F401  # they fill the table
from sdk.backends.arm.tosa.integer.registry import INTEGER

__all__ = ["INTEGER"]
