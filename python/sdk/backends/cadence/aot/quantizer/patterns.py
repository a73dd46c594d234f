# SPDX-License-Identifier: BSD-3-Clause
"""The patterns that quantizers recognise: functions, concatenations, norms and pools in this file, layers in
`layer_patterns`."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import SharedQuantizationSpec

import sdk.backends.cadence.aot.ops_registrations  # noqa: F401  (registers the operators)
from sdk.backends.cadence.aot.compiler_utils import get_shape, quantize_multiplier
from sdk.backends.cadence.aot.pass_utils import get_arg, replace_with_op
from sdk.backends.cadence.aot.quantizer.layer_patterns import (
    AddmmPattern,
    AddPattern,
    AddReluBasePattern,
    AddReluPattern0,
    AddReluPattern1,
    BmmPattern,
    Conv1dBNReluPattern0,
    Conv1dBNReluPattern1,
    Conv1dPattern,
    Conv1dReluPattern0,
    Conv1dReluPattern1,
    Conv2dBNReluPattern0,
    Conv2dBNReluPattern1,
    Conv2dPattern,
    Conv2dReluPattern0,
    Conv2dReluPattern1,
    ConvBNReluBasePattern,
    ConvReluBasePattern,
    LinearPattern,
    MatmulPattern,
)
from sdk.backends.cadence.aot.quantizer.pattern import (
    OneOperatorPattern,
    PartitionAnchors,
    QuantizationPattern,
)
from sdk.backends.cadence.aot.quantizer.pattern_utils import (
    dequantized,
    find_quant_user,
    insert_node_with_meta,
    result_of,
    source_of,
)

__all__ = [
    "AddPattern",
    "AddReluBasePattern",
    "AddReluPattern0",
    "AddReluPattern1",
    "AddmmPattern",
    "BmmPattern",
    "CatPattern",
    "Conv1dBNReluPattern0",
    "Conv1dBNReluPattern1",
    "Conv1dPattern",
    "Conv1dReluPattern0",
    "Conv1dReluPattern1",
    "Conv2dBNReluPattern0",
    "Conv2dBNReluPattern1",
    "Conv2dPattern",
    "Conv2dReluPattern0",
    "Conv2dReluPattern1",
    "ConvBNReluBasePattern",
    "ConvReluBasePattern",
    "LayerNormPattern",
    "LinearPattern",
    "MatmulPattern",
    "MaxPool2dPattern",
    "MaxPool2dWithoutIndicesPattern",
    "PartitionAnchors",
    "QuantizationPattern",
    "ReluBasePattern",
    "ReluPattern0",
    "ReluPattern1",
    "RmsNormPattern",
    "SoftmaxPattern",
]

_aten = torch.ops.aten
_cadence = torch.ops.cadence
_MASK_WORD = 16
"""The number of elements of a softmax that one integer of its mask covers."""


class CatPattern(OneOperatorPattern):
    """A concatenation. Its operands and its result share a scale."""

    target = _aten.cat.default
    replacement = _aten.cat.default

    def anchors(self, node: Node, last: Node) -> PartitionAnchors:
        operands = node.args[0]
        assert isinstance(operands, (list, tuple))
        shared = SharedQuantizationSpec((operands[0], node))
        inputs: list[tuple[Any, ...]] = [(node, (0, 0))]
        inputs += [(node, (0, i), shared) for i in range(1, len(operands))]
        return PartitionAnchors(inputs=inputs, output=[(node, shared)])

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


class _OneInputPattern(OneOperatorPattern):
    """An operator with one quantised operand and a quantised result."""

    def anchors(self, node: Node, last: Node) -> PartitionAnchors:
        return PartitionAnchors(inputs=[(node, 0)], output=[(node,)])

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        x, quantize = dequantized(anchor_node.args[0]), find_quant_user(anchor_node)
        return None if x is None or quantize is None else self.fused(gm, anchor_node, x, quantize)

    def fused(self, gm: GraphModule, node: Node, x: Node, quantize: Node) -> Node | None:
        """Returns the call that replaces a chain, or None to keep the chain."""
        raise NotImplementedError


class LayerNormPattern(_OneInputPattern):
    """Weights and bias stay in float32."""

    target = _aten.layer_norm.default
    replacement = _cadence.quantized_layer_norm.per_tensor

    def anchors(self, node: Node, last: Node) -> PartitionAnchors:
        others = [(node, 1), *((node, i) for i in (2, 3) if len(node.args) > i and node.args[i] is not None)]
        return PartitionAnchors(inputs=[(node, 0)], others=others, output=[(node,)])

    def fused(self, gm: GraphModule, node: Node, x: Node, quantize: Node) -> Node | None:
        source, scale, zero_point = source_of(x)
        shape = list(get_arg(node, "normalized_shape"))

        def parameter(name: str, default: int) -> Node:
            found = get_arg(node, name)
            if isinstance(found, Node):
                return found
            args, kwargs = (shape, default), {"dtype": torch.float32}
            return insert_node_with_meta(gm, _aten.full.default, args, kwargs, node, source)

        out_scale, out_zero_point = result_of(quantize)
        kwargs = {
            "normalized_shape": shape,
            "weight": parameter("weight", 1),
            "bias": parameter("bias", 0),
            "eps": get_arg(node, "eps", float),
            "output_scale": out_scale,
            "output_zero_point": out_zero_point,
        }
        args = (source, scale, zero_point)
        return replace_with_op(gm, node, self.replacement_op(), args, kwargs, quantize)


def _pool_anchors(node: Node, output: Node) -> PartitionAnchors:
    shared = SharedQuantizationSpec((node.args[0], node))
    literals = [(node, i) for i in range(1, len(node.args))]
    return PartitionAnchors(inputs=[(node, 0)], literals=literals, output=[(output, shared)])


class MaxPool2dPattern(_OneInputPattern):
    """A max pool that also returns indices, which are not used. The maxima have the scale of the operand."""

    target = _aten.max_pool2d_with_indices.default
    replacement = _cadence.quantized_max_pool2d_nchw.default

    def anchors(self, node: Node, last: Node) -> PartitionAnchors:
        users = list(node.users)
        if len(users) != 1 or users[0].target is not operator.getitem or users[0].args[1] != 0:
            return PartitionAnchors(empty=True)
        return _pool_anchors(node, users[0])

    def fused(self, gm: GraphModule, node: Node, x: Node, quantize: Node) -> Node | None:
        if source_of(x)[1:] != result_of(quantize):
            return None
        places = {name: list(get_arg(node, name)) for name in ("kernel_size", "stride", "padding", "dilation")}
        kwargs = {name: each * 2 if len(each) == 1 else each for name, each in places.items()}
        kwargs["stride"] = kwargs["stride"] or kwargs["kernel_size"]
        operands: dict[str, Any] = {**kwargs, "ceil_mode": get_arg(node, "ceil_mode", bool)}
        target = _cadence.quantized_max_pool2d_nchw.default
        return replace_with_op(gm, node, target, (source_of(x)[0],), operands, quantize)


class MaxPool2dWithoutIndicesPattern(MaxPool2dPattern):
    target = _aten.max_pool2d.default

    def anchors(self, node: Node, last: Node) -> PartitionAnchors:
        return _pool_anchors(node, node)


class ReluBasePattern(_OneInputPattern):
    replacement = _cadence.quantized_relu.per_tensor

    def fused(self, gm: GraphModule, node: Node, x: Node, quantize: Node) -> Node | None:
        source, scale, zero_point = source_of(x)
        out_scale, out_zero_point = result_of(quantize)
        multiplier, shift = quantize_multiplier(scale / out_scale)
        kwargs = {
            "X_zero_point": zero_point,
            "out_zero_point": out_zero_point,
            "out_multiplier": multiplier,
            "out_shift": shift,
        }
        return replace_with_op(gm, node, self.replacement_op(), (source,), kwargs, quantize)


class ReluPattern0(ReluBasePattern):
    target = _aten.relu.default


class ReluPattern1(ReluBasePattern):
    target = _aten.relu_.default


class SoftmaxPattern(_OneInputPattern):
    target = _aten._softmax.default
    replacement = _cadence.quantized_softmax.per_tensor

    def fused(self, gm: GraphModule, node: Node, x: Node, quantize: Node) -> Node | None:
        shape = get_shape(gm, node)
        if not shape:
            return None
        source = source_of(x)[0]

        def constant(args: tuple[Any, ...], dtype: torch.dtype) -> Node:
            return insert_node_with_meta(gm, _aten.full.default, args, {"dtype": dtype}, node, source)

        mask = constant(([*shape[:-1], shape[-1] // _MASK_WORD], 0), torch.int32)
        pos = constant(([1], 0), torch.int64)
        numbers = (*source_of(x)[1:], *result_of(quantize))
        args = (source, mask, get_arg(node, "dim", int), 0, pos, *numbers)
        return replace_with_op(gm, node, self.replacement_op(), args, {}, quantize)


class RmsNormPattern(OneOperatorPattern):
    """Keeps rms_norm from being decomposed; quantises nothing."""

    target = _aten.rms_norm.default
    replacement = _aten.rms_norm.default

    def anchors(self, node: Node, last: Node) -> PartitionAnchors:
        return PartitionAnchors(empty=True)
