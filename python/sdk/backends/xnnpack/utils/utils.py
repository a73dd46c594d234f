# SPDX-License-Identifier: BSD-3-Clause
"""Properties of nodes for code that uses this backend: constants, convolutions, activations."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import name_of
from sdk.backends.transforms.constants import get_constant
from sdk.backends.transforms.utils import is_get_attr_node, is_param_node

__all__ = [
    "PERM_NCHW_TO_NHWC",
    "PERM_NHWC_TO_NCHW",
    "check_or_raise",
    "get_groups_from_conv",
    "get_input_node",
    "get_param_tensor",
    "get_relu_fused_node",
    "get_source_fn",
    "get_tensor_name",
    "is_depthwise_conv",
    "is_get_attr_node",
    "is_getitem",
    "is_node",
    "is_param_node",
    "normalize_mean_dims",
]

PERM_NCHW_TO_NHWC = [0, 2, 3, 1]
PERM_NHWC_TO_NCHW = [0, 3, 1, 2]

_GROUPS = {"aten.convolution.default": 8, "aten.conv2d.default": 6, "aten.conv_transpose2d.input": 6}


def check_or_raise(condition: bool, err: str) -> None:
    """Raises AssertionError with the message `err` unless `condition` is true."""
    if not condition:
        raise AssertionError(err)


def is_node(node: Any) -> bool:
    """Whether an argument is a node."""
    return isinstance(node, Node)


def is_getitem(node: Node) -> bool:
    """Whether a node is one of several results of a call."""
    return node.op == "call_function" and node.target is operator.getitem


def get_input_node(node: Node, input_index: int) -> Node:
    """Returns an argument, which must be a node. Raises AssertionError if it is not."""
    found = node.args[input_index]
    if not isinstance(found, Node):
        raise AssertionError(f"argument {input_index} of {node} is {found!r}; expected the result of another node")
    return found


def get_param_tensor(exp_prog: ExportedProgram, node: Node | None) -> torch.Tensor | None:
    """The tensor of a node that is a parameter, an unchanged buffer or a constant; None for any other."""
    return get_constant(exp_prog, node)


def get_tensor_name(exp_prog: ExportedProgram, node: Node) -> str:
    """The name in the model of a parameter, buffer or constant; "" for any other node."""
    signature = exp_prog.graph_signature
    for names in (
        signature.inputs_to_parameters,
        signature.inputs_to_buffers,
        signature.inputs_to_lifted_tensor_constants,
    ):
        if node.name in names:
            return names[node.name]
    return str(node.target) if is_get_attr_node(node) else ""


def get_source_fn(node: Node) -> Any | None:
    """Returns the function of the model that a call comes from, or None if the graph does not record it."""
    stack = node.meta.get("source_fn_stack")
    return stack[-1][1] if stack else None


def get_relu_fused_node(node: Node) -> Node | None:
    """The ReLU that can be fused with a node because it is the only reader; None without such a ReLU."""
    readers = list(node.users)
    return readers[0] if len(readers) == 1 and name_of(readers[0]) == "aten.relu.default" else None


def get_groups_from_conv(conv_node: Node) -> int:
    """The number of groups of a convolution."""
    name = name_of(conv_node)
    if name not in _GROUPS:
        raise RuntimeError(f"{conv_node} is {name or conv_node.op}; expected one of {', '.join(_GROUPS)}")
    position = _GROUPS[name]
    value = conv_node.args[position] if position < len(conv_node.args) else conv_node.kwargs.get("groups", 1)
    assert isinstance(value, int)
    return value


def is_depthwise_conv(kernel_shape: Sequence[int], groups: int = 1, is_transpose: bool = False) -> bool:
    """Whether a 2D convolution has several groups with one input channel each. `kernel_shape` is that of the weight.
    Transposed convolutions have the input channels first; XNNPACK has no depthwise form of them."""
    if len(kernel_shape) < 4 or groups <= 1 or is_transpose:
        return False
    return kernel_shape[1] == 1 and kernel_shape[0] % groups == 0


def normalize_mean_dims(mean_dims: Sequence[int] | int | None, rank: int) -> list[int]:
    """The dimensions of a mean as sorted non-negative numbers; all dimensions for None or an empty list."""
    if mean_dims is None or mean_dims == [] or mean_dims == ():
        return list(range(rank))
    dims = [mean_dims] if isinstance(mean_dims, int) else list(mean_dims)
    for dim in dims:
        if not -rank <= dim < rank:
            raise IndexError(f"dimension {dim} of a tensor with {rank} dimensions")
    return sorted({dim % rank for dim in dims})
