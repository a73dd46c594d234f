# SPDX-License-Identifier: BSD-3-Clause
"""The operators of the edge dialect that have an int8 version."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from sdk.backends.graph.names import arguments_of
from sdk.exir.dialects._ops import ops as exir_ops

_aten = exir_ops.edge.aten

WEIGHTED = frozenset((_aten.convolution.default, _aten.linear.default))
"""Operators with an activation, a weight and a bias as operands."""

ACTIVATIONS = frozenset((_aten.relu.default, _aten.hardtanh.default, _aten.clamp.default))
"""Activation functions that only clamp, and can become limits of the operator before them."""

FUSING = WEIGHTED | {_aten.add.Tensor, _aten.max_pool2d.default}
"""Operators that can clamp their results."""

FUNCTIONS: dict[Any, Callable[..., Tensor]] = {
    _aten.relu.default: torch.relu,
    _aten.hardtanh.default: torch.nn.functional.hardtanh,
    _aten.clamp.default: torch.clamp,
    _aten.sigmoid.default: torch.sigmoid,
    _aten.tanh.default: torch.tanh,
    _aten.silu.default: torch.nn.functional.silu,
    _aten.hardsigmoid.default: torch.nn.functional.hardsigmoid,
    _aten.hardswish.default: torch.nn.functional.hardswish,
    _aten.gelu.default: torch.nn.functional.gelu,
    _aten.elu.default: torch.nn.functional.elu,
    _aten.leaky_relu.default: torch.nn.functional.leaky_relu,
    _aten.exp.default: torch.exp,
    _aten.abs.default: torch.abs,
    _aten.neg.default: torch.neg,
    _aten.sqrt.default: torch.sqrt,
    _aten.rsqrt.default: torch.rsqrt,
}
"""Functions of one variable, which become tables. The other arguments are numbers."""

KEEPING = frozenset((_aten.avg_pool2d.default, _aten.max_pool2d.default, _aten.minimum.default, _aten.maximum.default))
"""Operators whose results have the scale of their operands."""

IMAGES = frozenset((_aten.convolution.default, _aten.avg_pool2d.default, _aten.max_pool2d.default))
"""Operators of images, whose kernels require the memory format channels_last."""

MOVES = frozenset(
    (
        _aten.view_copy.default,
        _aten.permute_copy.default,
        _aten.constant_pad_nd.default,
        _aten.squeeze_copy.dims,
        _aten.unsqueeze_copy.default,
        _aten.slice_copy.Tensor,
        _aten.select_copy.int,
        _aten.cat.default,
        _aten.expand_copy.default,
        _aten.alias_copy.default,
        exir_ops.edge.dim_order_ops._clone_dim_order.default,
    )
)
"""Operators that move elements, which the portable kernels of int8 do too."""

LOWERED = (
    WEIGHTED
    | KEEPING
    | FUNCTIONS.keys()
    | {_aten.add.Tensor, _aten.mul.Tensor, _aten.bmm.default, _aten._softmax.default}
)


def activation_bounds(node: Node) -> tuple[float, float] | None:
    """The limits that an activation function sets; None if a limit is not a number."""
    if node.target == _aten.relu.default:
        return 0.0, math.inf
    _, low, high = arguments_of(node).values()
    if any(isinstance(limit, Node) for limit in (low, high)):
        return None
    return -math.inf if low is None else float(low), math.inf if high is None else float(high)
