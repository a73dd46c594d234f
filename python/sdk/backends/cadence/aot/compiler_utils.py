# SPDX-License-Identifier: BSD-3-Clause
"""Helpers for passes: properties of graphs, shapes and scales."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import frexp
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node

from sdk.backends.cadence.aot.utils import get_output_node as get_output_node
from sdk.backends.cadence.aot.utils import get_shape as get_shape
from sdk.backends.cadence.aot.utils import is_node_in_flattened_output as is_node_in_flattened_output

_Q31 = 1 << 31


def get_placeholders(graph: Graph) -> list[Node]:
    """Returns the inputs of a graph, including constants."""
    return list(graph.find_nodes(op="placeholder"))


def broadcastable(shape_1: Sequence[int], shape_2: Sequence[int]) -> bool:
    """Whether a tensor of `shape_2` can be broadcast to `shape_1`."""
    pairs = zip(reversed(shape_1), reversed(shape_2), strict=False)
    return len(shape_2) <= len(shape_1) and all(y in (1, x) for x, y in pairs)


def get_transposed_dims(node: Node, dims: Sequence[int] | None = None) -> list[int]:
    """Returns the dimensions in the order that a call of transpose_copy gives them."""
    assert dims is not None
    swapped = list(dims)
    first, second = node.args[1], node.args[2]
    assert isinstance(first, int) and isinstance(second, int)
    swapped[first], swapped[second] = swapped[second], swapped[first]
    return swapped


def get_permuted_dims(node: Node, dims: Sequence[int]) -> list[int]:
    """Returns the dimensions in the order that a call of permute_copy gives them."""
    order = node.args[1]
    assert isinstance(order, (list, tuple))
    return [dims[int(at)] for at in order]


def get_tensor_from_attr(graph_module: GraphModule, node: Node | None) -> Tensor | None:
    """Returns the tensor that an attribute of the graph's module holds."""
    if node is None:
        return None
    assert node.op == "get_attr"
    tensor: Tensor = getattr(graph_module, str(node.target))
    return tensor


def is_node_with_op(node: Node, op: str) -> bool:
    """Whether a node has the given `op`, such as "placeholder"."""
    return node.op == op


def count_users_with_target_op_type(nodes: Iterable[Node], op_target: Any) -> int:
    """Counts the calls of an operator that use results of the nodes."""
    return sum(user.op == "call_function" and user.target == op_target for node in nodes for user in node.users)


def contains_node_with_matching_target(nodes: Iterable[Node], op_target: Any) -> bool:
    """Whether one of the nodes calls an operator."""
    return any(node.target == op_target for node in nodes)


def get_scale(x: Tensor) -> Tensor:
    """Returns the scale of a tensor of a quantised dtype, or the scales of its channels."""
    if x.qscheme() == torch.per_channel_affine:
        return x.q_per_channel_scales().to(torch.float32)
    return torch.tensor([x.q_scale()], dtype=torch.float32)


def get_zero_point(x: Tensor, reduce: bool = True) -> Tensor:
    """Returns the zero point of a tensor of a quantised dtype, or those of its channels. With `reduce`, equal zero
    points become one number."""
    if x.qscheme() == torch.per_tensor_affine:
        return torch.tensor([x.q_zero_point()], dtype=torch.int32)
    zero_points = x.q_per_channel_zero_points().to(torch.int32)
    return zero_points[:1] if reduce and bool((zero_points == zero_points[0]).all()) else zero_points


def quantize_multiplier(scale: float) -> tuple[int, int]:
    """Represents a positive factor as multiplier / 2^31 * 2^shift, with a multiplier from 2^30 to 2^31 - 1."""
    significand, exponent = frexp(scale)
    multiplier = int(significand * _Q31 + 0.5)
    return (_Q31 // 2, exponent + 1) if multiplier == _Q31 else (multiplier, exponent)


def quantize_tensor_multiplier(requantize_scale_tensor: Tensor) -> tuple[Tensor, Tensor]:
    """Represents positive factors as multiplier / 2^31 * 2^shift. Returns int32 tensors of the factors' shape."""
    scales = requantize_scale_tensor.to(torch.float32)
    pairs = [quantize_multiplier(scale) for scale in scales.flatten().tolist()]
    multipliers, shifts = (torch.tensor([pair[i] for pair in pairs], dtype=torch.int32) for i in (0, 1))
    return multipliers.reshape(scales.shape), shifts.reshape(scales.shape)
