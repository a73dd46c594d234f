# SPDX-License-Identifier: BSD-3-Clause
"""Helpers that replace a chain of dequantize, operator and quantize by one call."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

from sdk.backends.cadence.aot.compiler_utils import quantize_multiplier
from sdk.backends.cadence.aot.pass_utils import fake_value, get_arg, replace_with_op
from sdk.backends.cadence.aot.quantizer.utils import copy_node_metadata, create_zero_bias_int32
from sdk.backends.cadence.aot.utils import is_depthwise_conv

DQ_PER_TENSOR: OpOverload = torch.ops.quantized_decomposed.dequantize_per_tensor.default
Q_PER_TENSOR: OpOverload = torch.ops.quantized_decomposed.quantize_per_tensor.default


def dequantized(value: Any) -> Node | None:
    """Returns the dequantize call of an argument, or None."""
    return value if isinstance(value, Node) and value.target == DQ_PER_TENSOR else None


def source_of(dequantize: Node) -> tuple[Node, float, int]:
    """Returns the quantised tensor, the scale and the zero point of a dequantize call."""
    return dequantize.args[0], get_arg(dequantize, "scale", float), get_arg(dequantize, "zero_point", int)


def result_of(quantize: Node) -> tuple[float, int]:
    """Returns the scale and the zero point of a quantize call."""
    return get_arg(quantize, "scale", float), get_arg(quantize, "zero_point", int)


def insert_node_with_meta(
    gm: GraphModule, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None, insert_before: Node, like_node: Node
) -> Node:
    """Inserts a call with its fake tensor."""
    with gm.graph.inserting_before(insert_before):
        node = gm.graph.call_function(op, args, kwargs or {})
    node.meta["val"] = fake_value(op, args, kwargs or {}, like_node)
    copy_node_metadata(node, like_node)
    return node


def find_quant_user(node: Node) -> Node | None:
    """Returns the quantize call that is the only user of a node's result, or of the first of its results. Returns None
    if there are other users, which need real values."""
    users = list(node.users)
    if len(users) == 1 and users[0].target is operator.getitem and users[0].args[1] == 0:
        users = list(users[0].users)
    return users[0] if len(users) == 1 and users[0].target == Q_PER_TENSOR else None


def _bias(gm: GraphModule, node: Node, dequantize_weight: Node, bias: Node | None, scale: float) -> Node:
    if bias is not None:
        return source_of(bias)[0]
    with gm.graph.inserting_before(node):
        return create_zero_bias_int32(gm, source_of(dequantize_weight)[0], scale)


def fuse_conv(pattern: Any, gm: GraphModule, conv_node: Node, dq_input: Node, dq_weight: Node,
              quant_node: Node) -> Node | None:  # fmt: skip
    """Returns one call for dequantize, convolution and quantize, or None if the bias is not quantised."""
    bias = get_arg(conv_node, "bias")
    dq_bias = dequantized(bias)
    if bias is not None and dq_bias is None:
        return None
    (x, x_scale, x_zero), (weight, weight_scale, weight_zero) = source_of(dq_input), source_of(dq_weight)
    out_scale, out_zero = result_of(quant_node)
    bias_scale = x_scale * weight_scale
    multiplier, shift = quantize_multiplier(bias_scale / out_scale)
    groups = get_arg(conv_node, "groups", int)
    kwargs = {
        **{name: list(get_arg(conv_node, name)) for name in ("stride", "padding", "dilation")},
        "groups": groups,
        "input_zero_point": x_zero,
        "weight_zero_point": weight_zero,
        "bias_scale": bias_scale,
        "out_scale": out_scale,
        "out_zero_point": out_zero,
        "out_multiplier": multiplier,
        "out_shift": shift,
    }
    target = pattern.replacement_op()
    one_dimensional = target == torch.ops.cadence.quantized_conv1d_ncl.per_tensor
    if one_dimensional and is_depthwise_conv(groups, x.meta["val"].shape[1]):
        target = torch.ops.cadence.quantized_depthwise_conv1d_ncl.per_tensor
    args = (x, weight, _bias(gm, conv_node, dq_weight, dq_bias, bias_scale))
    return replace_with_op(gm, conv_node, target, args, kwargs, quant_node)


def fuse_linear(gm: GraphModule, dq_input: Node, dq_weight: Node, dq_bias: Node | None, quant_node: Node,
                op_node: Node, replacement_op: Any, weight_q: Node | None = None) -> Node:  # fmt: skip
    """Returns one call for dequantize, linear layer and quantize."""
    (x, x_scale, x_zero), (weight, weight_scale, weight_zero) = source_of(dq_input), source_of(dq_weight)
    out_scale, out_zero = result_of(quant_node)
    bias_scale = x_scale * weight_scale
    multiplier, shift = quantize_multiplier(bias_scale / out_scale)
    kwargs = {
        "src_zero_point": x_zero,
        "weight_zero_point": weight_zero,
        "out_multiplier": multiplier,
        "out_shift": shift,
        "out_zero_point": out_zero,
        "offset": None,
    }
    weight = weight if weight_q is None else weight_q
    if dq_bias is None:
        with gm.graph.inserting_before(op_node):
            bias = create_zero_bias_int32(gm, weight, bias_scale)
    else:
        bias = source_of(dq_bias)[0]
    return replace_with_op(gm, op_node, replacement_op, (x, weight, bias), kwargs, quant_node)


def fuse_matmul(gm: GraphModule, anchor_node: Node, dq0: Node, dq1: Node, quant_node: Node,
                replacement_op: Any) -> Node:  # fmt: skip
    """Returns one call for dequantize, matrix multiplication and quantize."""
    (x, x_scale, x_zero), (y, y_scale, y_zero) = source_of(dq0), source_of(dq1)
    out_scale, out_zero = result_of(quant_node)
    multiplier, shift = quantize_multiplier(x_scale * y_scale / out_scale)
    kwargs = {"out_multiplier": multiplier, "out_shift": shift, "out_zero_point": out_zero, "transposed": False}
    return replace_with_op(gm, anchor_node, replacement_op, (x, x_zero, y, y_zero, None), kwargs, quant_node)
