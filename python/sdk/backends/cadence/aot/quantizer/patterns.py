# SPDX-License-Identifier: BSD-3-Clause
"""What quantizers recognise: chains of operators, what of them is quantised, and the call that replaces them."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import DerivedQuantizationSpec, SharedQuantizationSpec

import sdk.backends.cadence.aot.ops_registrations  # noqa: F401  (registers the operators)
from sdk.backends.cadence.aot.compiler_utils import get_shape, quantize_multiplier
from sdk.backends.cadence.aot.pass_utils import get_arg, replace_with_op
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
from sdk.backends.cadence.aot.quantizer.utils import (
    Partition,
    check_out_zero_point_is_min_range,
    get_bias_qparams,
)

_aten = torch.ops.aten
_cadence = torch.ops.cadence
_MASK_WORD = 16
"""How many elements of a softmax one integer of its mask is for."""


@dataclass
class PartitionAnchors:
    """What of a chain is quantised. An entry is a node and the position of the argument; of inputs and biases, a third
    element is the specification instead of the quantizer's. `output` has nodes, with a specification or without.
    `others` are operands that stay as they are, `empty` says that the chain is not one for the pattern."""

    inputs: list[tuple[Any, ...]] = field(default_factory=list)
    weights: list[tuple[Any, ...]] = field(default_factory=list)
    biases: list[tuple[Any, ...]] = field(default_factory=list)
    others: list[tuple[Any, ...]] = field(default_factory=list)
    literals: list[tuple[Any, ...]] = field(default_factory=list)
    output: list[tuple[Any, ...]] = field(default_factory=list)
    empty: bool = False


Anchors = tuple[PartitionAnchors, Any]
Chain = Sequence[Partition]


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
    """A layer whose arguments are the activation, the weights and the bias, if there is one."""
    has_bias = len(node.args) > 2 and node.args[2] is not None
    biases = [(node, 2, _bias_spec(node))] if has_bias else []
    return PartitionAnchors(inputs=[(node, 0)], weights=[(node, 1)], biases=biases, output=[(output,)])


class QuantizationPattern(ABC):
    """A chain of operators."""

    @abstractmethod
    def partition_types(self) -> list[OpOverload]:
        """The operators, which the export keeps."""

    @abstractmethod
    def get_anchors(self, gm: GraphModule, fused_partition: Chain) -> Anchors:
        """What of a chain is quantised, and its last node."""

    @abstractmethod
    def replacement_op(self) -> OpOverload:
        """The operator that replaces the chain."""

    def anchor_ops(self) -> tuple[OpOverload, ...]:
        """The operators at which `fuse` looks for a chain."""
        return (self.partition_types()[0],)

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        """Replaces the chain at a node with one call, or leaves it and returns None."""
        return None


class _OneOperator(QuantizationPattern):
    target: OpOverload
    replacement: OpOverload

    def partition_types(self) -> list[OpOverload]:
        return [self.target]

    def replacement_op(self) -> OpOverload:
        return self.replacement


class AddmmPattern(_OneOperator):
    """A linear layer as addmm(bias, input, weights (inputs, outputs))."""

    target = _aten.addmm.default
    replacement = _cadence.quantized_linear.per_tensor

    def get_anchors(self, gm: GraphModule, fused_partition: Chain) -> Anchors:
        node = fused_partition[0].nodes[-1]
        biases = [(node, 0, _bias_spec(node, 1, 2))]
        anchors = PartitionAnchors(inputs=[(node, 1)], weights=[(node, 2)], biases=biases, output=[(node,)])
        return anchors, node

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        bias, x, weight = (dequantized(anchor_node.args[i]) for i in range(3))
        quantize = find_quant_user(anchor_node)
        if bias is None or x is None or weight is None or quantize is None or anchor_node.kwargs:
            return None
        source = source_of(weight)[0]
        transposed = insert_node_with_meta(gm, _aten.transpose.int, (source, 0, 1), None, anchor_node, source)
        return fuse_linear(gm, x, weight, bias, quantize, anchor_node, self.replacement_op(), transposed)


class LinearPattern(_OneOperator):
    target = _aten.linear.default
    replacement = _cadence.quantized_linear.per_tensor

    def get_anchors(self, gm: GraphModule, fused_partition: Chain) -> Anchors:
        node = fused_partition[0].nodes[-1]
        return _weighted(node, node), node

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        x, weight = (dequantized(anchor_node.args[i]) for i in range(2))
        bias, quantize = get_arg(anchor_node, "bias"), find_quant_user(anchor_node)
        dq_bias = dequantized(bias)
        if x is None or weight is None or quantize is None or (bias is not None and dq_bias is None):
            return None
        return fuse_linear(gm, x, weight, dq_bias, quantize, anchor_node, self.replacement_op())


class _BinaryPattern(_OneOperator):
    def get_anchors(self, gm: GraphModule, fused_partition: Chain) -> Anchors:
        node, last = fused_partition[0].nodes[-1], fused_partition[-1].nodes[-1]
        if node.kwargs or len(node.args) != 2 or not all(isinstance(arg, Node) for arg in node.args):
            return PartitionAnchors(empty=True), node
        return PartitionAnchors(inputs=[(node, 0), (node, 1)], output=[(last,)]), last

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
    """A sum of two tensors, without a factor."""

    target = _aten.add.Tensor
    replacement = _cadence.quantized_add.per_tensor

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        return _fuse_add(gm, anchor_node, find_quant_user(anchor_node))


def _relu_after(node: Node, relu: OpOverload) -> Node | None:
    """The only user of a result, if it is ReLU."""
    users = list(node.users)
    return users[0] if len(users) == 1 and users[0].target == relu else None


def _quantize_of_relu(relu: Node | None) -> Node | None:
    """The quantisation of a ReLU that clamping replaces: no integer stands for a negative number."""
    quantize = None if relu is None else find_quant_user(relu)
    if quantize is None:
        return None
    zero_point, dtype = get_arg(quantize, "zero_point", int), get_arg(quantize, "dtype", torch.dtype)
    return quantize if check_out_zero_point_is_min_range(zero_point, dtype) else None


class AddReluBasePattern(_BinaryPattern):
    """A sum and ReLU, which the limits of the result are."""

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


class CatPattern(_OneOperator):
    """A concatenation, whose operands and result share one scale."""

    target = _aten.cat.default
    replacement = _aten.cat.default

    def get_anchors(self, gm: GraphModule, fused_partition: Chain) -> Anchors:
        node = fused_partition[0].nodes[-1]
        operands = node.args[0]
        assert isinstance(operands, (list, tuple))
        shared = SharedQuantizationSpec((operands[0], node))
        inputs: list[tuple[Any, ...]] = [(node, (0, 0))]
        inputs += [(node, (0, i), shared) for i in range(1, len(operands))]
        return PartitionAnchors(inputs=inputs, output=[(node, shared)]), node

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        operands, quantize = anchor_node.args[0], find_quant_user(anchor_node)
        sources = [dequantized(each) for each in operands] if isinstance(operands, (list, tuple)) else []
        if quantize is None or not sources or None in sources:
            return None
        tensors = [source_of(each)[0] for each in sources if each is not None]
        scales = {source_of(each)[1:] for each in sources if each is not None}
        if scales != {result_of(quantize)}:
            return None
        args, kwargs = (tensors,), {"dim": get_arg(anchor_node, "dim", int)}
        return replace_with_op(gm, anchor_node, self.replacement_op(), args, kwargs, quantize)


class _ConvPattern(_OneOperator):
    def get_anchors(self, gm: GraphModule, fused_partition: Chain) -> Anchors:
        node, last = fused_partition[0].nodes[-1], fused_partition[-1].nodes[-1]
        return _weighted(node, last), last

    def quantize_node(self, conv: Node) -> Node | None:
        """The quantisation of the chain's result."""
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
    """A convolution and ReLU, which the limits of the result are."""

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
    """A convolution, a batch norm and ReLU, for annotation alone: the batch norm is folded into the convolution before
    chains are fused. One that is left is never dropped."""

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


class LayerNormPattern(_OneOperator):
    """Weights and bias stay in float32."""

    target = _aten.layer_norm.default
    replacement = _cadence.quantized_layer_norm.per_tensor

    def get_anchors(self, gm: GraphModule, fused_partition: Chain) -> Anchors:
        node = fused_partition[0].nodes[-1]
        others = [(node, 1), *((node, i) for i in (2, 3) if len(node.args) > i and node.args[i] is not None)]
        return PartitionAnchors(inputs=[(node, 0)], others=others, output=[(node,)]), node

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        x, quantize = dequantized(anchor_node.args[0]), find_quant_user(anchor_node)
        if x is None or quantize is None:
            return None
        source, scale, zero_point = source_of(x)
        shape = list(get_arg(anchor_node, "normalized_shape"))

        def parameter(name: str, default: int) -> Node:
            found = get_arg(anchor_node, name)
            if isinstance(found, Node):
                return found
            args, kwargs = (shape, default), {"dtype": torch.float32}
            return insert_node_with_meta(gm, _aten.full.default, args, kwargs, anchor_node, source)

        out_scale, out_zero_point = result_of(quantize)
        kwargs = {
            "normalized_shape": shape,
            "weight": parameter("weight", 1),
            "bias": parameter("bias", 0),
            "eps": get_arg(anchor_node, "eps", float),
            "output_scale": out_scale,
            "output_zero_point": out_zero_point,
        }
        args = (source, scale, zero_point)
        return replace_with_op(gm, anchor_node, self.replacement_op(), args, kwargs, quantize)


def _fuse_max_pool2d(gm: GraphModule, pool: Node) -> Node | None:
    x, quantize = dequantized(pool.args[0]), find_quant_user(pool)
    if x is None or quantize is None or source_of(x)[1:] != result_of(quantize):
        return None
    places = {name: list(get_arg(pool, name)) for name in ("kernel_size", "stride", "padding", "dilation")}
    kwargs = {name: each * 2 if len(each) == 1 else each for name, each in places.items()}
    kwargs["stride"] = kwargs["stride"] or kwargs["kernel_size"]
    operands: dict[str, Any] = {**kwargs, "ceil_mode": get_arg(pool, "ceil_mode", bool)}
    target = _cadence.quantized_max_pool2d_nchw.default
    return replace_with_op(gm, pool, target, (source_of(x)[0],), operands, quantize)


class MaxPool2dPattern(_OneOperator):
    """A pool that gives the maxima and where they are, of which only the maxima are used. They have the scale of the
    operand."""

    target = _aten.max_pool2d_with_indices.default
    replacement = _cadence.quantized_max_pool2d_nchw.default

    def get_anchors(self, gm: GraphModule, fused_partition: Chain) -> Anchors:
        node = fused_partition[0].nodes[-1]
        users = list(node.users)
        if len(users) != 1 or users[0].target is not operator.getitem or users[0].args[1] != 0:
            return PartitionAnchors(empty=True), node
        return self._anchors(node, users[0]), node

    @staticmethod
    def _anchors(node: Node, output: Node) -> PartitionAnchors:
        shared = SharedQuantizationSpec((node.args[0], node))
        literals = [(node, i) for i in range(1, len(node.args))]
        return PartitionAnchors(inputs=[(node, 0)], literals=literals, output=[(output, shared)])

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        return _fuse_max_pool2d(gm, anchor_node)


class MaxPool2dWithoutIndicesPattern(MaxPool2dPattern):
    target = _aten.max_pool2d.default

    def get_anchors(self, gm: GraphModule, fused_partition: Chain) -> Anchors:
        node = fused_partition[0].nodes[-1]
        return self._anchors(node, node), node


class ReluBasePattern(_OneOperator):
    replacement = _cadence.quantized_relu.per_tensor

    def get_anchors(self, gm: GraphModule, fused_partition: Chain) -> Anchors:
        node = fused_partition[0].nodes[-1]
        return PartitionAnchors(inputs=[(node, 0)], output=[(node,)]), node

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        x, quantize = dequantized(anchor_node.args[0]), find_quant_user(anchor_node)
        if x is None or quantize is None:
            return None
        source, scale, zero_point = source_of(x)
        out_scale, out_zero_point = result_of(quantize)
        multiplier, shift = quantize_multiplier(scale / out_scale)
        kwargs = {
            "X_zero_point": zero_point,
            "out_zero_point": out_zero_point,
            "out_multiplier": multiplier,
            "out_shift": shift,
        }
        return replace_with_op(gm, anchor_node, self.replacement_op(), (source,), kwargs, quantize)


class ReluPattern0(ReluBasePattern):
    target = _aten.relu.default


class ReluPattern1(ReluBasePattern):
    target = _aten.relu_.default


class SoftmaxPattern(_OneOperator):
    target = _aten._softmax.default
    replacement = _cadence.quantized_softmax.per_tensor

    def get_anchors(self, gm: GraphModule, fused_partition: Chain) -> Anchors:
        node = fused_partition[0].nodes[-1]
        return PartitionAnchors(inputs=[(node, 0)], output=[(node,)]), node

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        x, quantize = dequantized(anchor_node.args[0]), find_quant_user(anchor_node)
        shape = get_shape(gm, anchor_node)
        if x is None or quantize is None or not shape:
            return None
        source = source_of(x)[0]

        def constant(args: tuple[Any, ...], dtype: torch.dtype) -> Node:
            return insert_node_with_meta(gm, _aten.full.default, args, {"dtype": dtype}, anchor_node, source)

        mask = constant(([*shape[:-1], shape[-1] // _MASK_WORD], 0), torch.int32)
        pos = constant(([1], 0), torch.int64)
        numbers = (*source_of(x)[1:], *result_of(quantize))
        args = (source, mask, get_arg(anchor_node, "dim", int), 0, pos, *numbers)
        return replace_with_op(gm, anchor_node, self.replacement_op(), args, {}, quantize)


class RmsNormPattern(_OneOperator):
    """Keeps rms_norm whole in the export, and quantises nothing."""

    target = _aten.rms_norm.default
    replacement = _aten.rms_norm.default

    def get_anchors(self, gm: GraphModule, fused_partition: Chain) -> Anchors:
        return PartitionAnchors(empty=True), None
