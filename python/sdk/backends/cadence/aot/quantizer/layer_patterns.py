# SPDX-License-Identifier: BSD-3-Clause
"""Patterns of layers with weights, of matrix multiplications and of additions, with or without ReLU after them."""

from __future__ import annotations

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import DerivedQuantizationSpec

import sdk.backends.cadence.aot.ops_registrations  # noqa: F401  (registers the operators)
from sdk.backends.cadence.aot.pass_utils import get_arg, replace_with_op
from sdk.backends.cadence.aot.quantizer.pattern import OneOperatorPattern, PartitionAnchors
from sdk.backends.cadence.aot.quantizer.pattern_utils import (
    dequantized,
    find_quant_user,
    fuse_conv,
    fuse_linear,
    fuse_matmul,
    insert_node_with_meta,
    result_of,
    source_of,
)
from sdk.backends.cadence.aot.quantizer.utils import check_out_zero_point_is_min_range, get_bias_qparams

_aten = torch.ops.aten
_cadence = torch.ops.cadence


def _bias_spec(node: Node, activation: int = 0, weight: int = 1) -> DerivedQuantizationSpec:
    return DerivedQuantizationSpec(
        derived_from=[(node.args[activation], node), (node.args[weight], node)],
        derive_qparams_fn=get_bias_qparams,
        dtype=torch.int32,
        quant_min=-(2**31),
        quant_max=2**31 - 1,
        qscheme=torch.per_tensor_affine,
    )


def _weighted(node: Node, output: Node) -> PartitionAnchors:
    """A layer whose arguments are the activation, the weights and optionally the bias."""
    has_bias = len(node.args) > 2 and node.args[2] is not None
    biases = [(node, 2, _bias_spec(node))] if has_bias else []
    return PartitionAnchors(inputs=[(node, 0)], weights=[(node, 1)], biases=biases, output=[(output,)])


class AddmmPattern(OneOperatorPattern):
    """A linear layer in the form addmm(bias, input, weights), with weights (inputs, outputs)."""

    target = _aten.addmm.default
    replacement = _cadence.quantized_linear.per_tensor

    def anchors(self, node: Node, last: Node) -> PartitionAnchors:
        biases = [(node, 0, _bias_spec(node, 1, 2))]
        return PartitionAnchors(inputs=[(node, 1)], weights=[(node, 2)], biases=biases, output=[(node,)])

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        bias, x, weight = (dequantized(anchor_node.args[i]) for i in range(3))
        quantize = find_quant_user(anchor_node)
        if bias is None or x is None or weight is None or quantize is None or anchor_node.kwargs:
            return None
        source = source_of(weight)[0]
        transposed = insert_node_with_meta(gm, _aten.transpose.int, (source, 0, 1), None, anchor_node, source)
        return fuse_linear(gm, x, weight, bias, quantize, anchor_node, self.replacement_op(), transposed)


class LinearPattern(OneOperatorPattern):
    target = _aten.linear.default
    replacement = _cadence.quantized_linear.per_tensor

    def anchors(self, node: Node, last: Node) -> PartitionAnchors:
        return _weighted(node, node)

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        x, weight = (dequantized(anchor_node.args[i]) for i in range(2))
        bias, quantize = get_arg(anchor_node, "bias"), find_quant_user(anchor_node)
        dq_bias = dequantized(bias)
        if x is None or weight is None or quantize is None or (bias is not None and dq_bias is None):
            return None
        return fuse_linear(gm, x, weight, dq_bias, quantize, anchor_node, self.replacement_op())


class _BinaryPattern(OneOperatorPattern):
    def anchors(self, node: Node, last: Node) -> PartitionAnchors:
        if node.kwargs or len(node.args) != 2 or not all(isinstance(arg, Node) for arg in node.args):
            return PartitionAnchors(empty=True)
        return PartitionAnchors(inputs=[(node, 0), (node, 1)], output=[(last,)])

    @staticmethod
    def operands(node: Node) -> tuple[Node, Node] | None:
        if node.kwargs or len(node.args) != 2:
            return None
        first, second = (dequantized(arg) for arg in node.args)
        return None if first is None or second is None else (first, second)


class BmmPattern(_BinaryPattern):
    target = _aten.bmm.default
    replacement = _cadence.quantized_matmul.default

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        operands, quantize = self.operands(anchor_node), find_quant_user(anchor_node)
        if operands is None or quantize is None:
            return None
        return fuse_matmul(gm, anchor_node, *operands, quantize, self.replacement_op())


class MatmulPattern(BmmPattern):
    target = _aten.matmul.default


def _fuse_add(gm: GraphModule, add: Node, quantize: Node | None) -> Node | None:
    operands = _BinaryPattern.operands(add)
    if operands is None or quantize is None:
        return None
    args = (*source_of(operands[0]), *source_of(operands[1]), *result_of(quantize))
    return replace_with_op(gm, add, _cadence.quantized_add.per_tensor, args, {}, quantize)


class AddPattern(_BinaryPattern):
    """An addition of two tensors without a factor."""

    target = _aten.add.Tensor
    replacement = _cadence.quantized_add.per_tensor

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        return _fuse_add(gm, anchor_node, find_quant_user(anchor_node))


def _relu_after(node: Node, relu: OpOverload) -> Node | None:
    """Returns the user of a result if it is ReLU and the only user, else None."""
    users = list(node.users)
    return users[0] if len(users) == 1 and users[0].target == relu else None


def _quantize_of_relu(relu: Node | None) -> Node | None:
    """Returns the quantisation of a ReLU that clamping can replace: no integer represents a negative number."""
    quantize = None if relu is None else find_quant_user(relu)
    if quantize is None:
        return None
    zero_point, dtype = get_arg(quantize, "zero_point", int), get_arg(quantize, "dtype", torch.dtype)
    return quantize if check_out_zero_point_is_min_range(zero_point, dtype) else None


class AddReluBasePattern(_BinaryPattern):
    """An addition with ReLU. The range of the result's integers replaces the ReLU."""

    target = _aten.add.Tensor
    replacement = _cadence.quantized_add.per_tensor
    relu: OpOverload

    def partition_types(self) -> list[OpOverload]:
        return [self.target, self.relu]

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        return _fuse_add(gm, anchor_node, _quantize_of_relu(_relu_after(anchor_node, self.relu)))


class AddReluPattern0(AddReluBasePattern):
    relu = _aten.relu.default


class AddReluPattern1(AddReluBasePattern):
    relu = _aten.relu_.default


class _ConvPattern(OneOperatorPattern):
    def anchors(self, node: Node, last: Node) -> PartitionAnchors:
        return _weighted(node, last)

    def quantize_node(self, conv: Node) -> Node | None:
        """Returns the quantisation of the chain's result."""
        return find_quant_user(conv)

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        x, weight = (dequantized(anchor_node.args[i]) for i in range(2))
        quantize = self.quantize_node(anchor_node)
        if x is None or weight is None or quantize is None or isinstance(get_arg(anchor_node, "padding"), str):
            return None
        return fuse_conv(self, gm, anchor_node, x, weight, quantize)


class Conv1dPattern(_ConvPattern):
    target = _aten.conv1d.default
    replacement = _cadence.quantized_conv1d_ncl.per_tensor


class Conv2dPattern(_ConvPattern):
    target = _aten.conv2d.default
    replacement = _cadence.quantized_conv2d_nchw.per_tensor


class ConvReluBasePattern(_ConvPattern):
    """A convolution with ReLU. The range of the result's integers replaces the ReLU."""

    relu: OpOverload

    def partition_types(self) -> list[OpOverload]:
        return [self.target, self.relu]

    def quantize_node(self, conv: Node) -> Node | None:
        return _quantize_of_relu(_relu_after(conv, self.relu))


class Conv1dReluPattern0(ConvReluBasePattern):
    target = _aten.conv1d.default
    replacement = _cadence.quantized_conv1d_ncl.per_tensor
    relu = _aten.relu.default


class Conv1dReluPattern1(Conv1dReluPattern0):
    relu = _aten.relu_.default


class Conv2dReluPattern0(ConvReluBasePattern):
    target = _aten.conv2d.default
    replacement = _cadence.quantized_conv2d_nchw.per_tensor
    relu = _aten.relu.default


class Conv2dReluPattern1(Conv2dReluPattern0):
    relu = _aten.relu_.default


class ConvBNReluBasePattern(ConvReluBasePattern):
    """A convolution with batch norm and ReLU. The pattern only annotates: another pass folds the batch norm into the
    convolution before chains are fused. A batch norm that is not folded stays."""

    def partition_types(self) -> list[OpOverload]:
        return [self.target, _aten.batch_norm.default, self.relu]

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        return None


class Conv1dBNReluPattern0(ConvBNReluBasePattern):
    target = _aten.conv1d.default
    replacement = _cadence.quantized_conv1d_ncl.per_tensor
    relu = _aten.relu.default


class Conv1dBNReluPattern1(Conv1dBNReluPattern0):
    relu = _aten.relu_.default


class Conv2dBNReluPattern0(ConvBNReluBasePattern):
    target = _aten.conv2d.default
    replacement = _cadence.quantized_conv2d_nchw.per_tensor
    relu = _aten.relu.default


class Conv2dBNReluPattern1(Conv2dBNReluPattern0):
    relu = _aten.relu_.default
