# SPDX-License-Identifier: BSD-3-Clause
"""Lowers each operator of the edge dialect to TOSA. A lowering is a function in the file of its family."""

from sdk.backends.arm.tosa.lowering import (  # noqa: F401  # they fill the table
    activations,
    convolution,
    elementwise,
    functions,
    indexing,
    matrices,
    normalization,
    pooling,
    reductions,
    resizing,
    shapes,
)
from sdk.backends.arm.tosa.lowering.registry import LOWERINGS

__all__ = ["LOWERINGS"]
