# SPDX-License-Identifier: BSD-3-Clause
"""The operators of MPS, a visitor for each kind."""

from __future__ import annotations

from sdk.backends.apple.mps.operators import (
    activation_ops,
    binary_ops,
    clamp_ops,
    constant_ops,
    convolution_ops,
    indexing_ops,
    linear_algebra_ops,
    normalization_ops,
    op_clone,
    op_getitem,
    op_quant_dequant,
    pad_ops,
    pooling_ops,
    range_ops,
    reduce_ops,
    shape_ops,
    unary_ops,
)
from sdk.backends.apple.mps.operators.node_visitor import VISITORS

__all__ = [
    "VISITORS",
    "activation_ops",
    "binary_ops",
    "clamp_ops",
    "constant_ops",
    "convolution_ops",
    "indexing_ops",
    "linear_algebra_ops",
    "normalization_ops",
    "op_clone",
    "op_getitem",
    "op_quant_dequant",
    "pad_ops",
    "pooling_ops",
    "range_ops",
    "reduce_ops",
    "shape_ops",
    "unary_ops",
]
