# SPDX-License-Identifier: BSD-3-Clause
"""Patterns of layers with int8 weights and float32 activations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import SharedQuantizationSpec

from sdk.backends.cadence.aot.pass_utils import get_arg, replace_with_op
from sdk.backends.cadence.aot.quantizer.pattern import OneOperatorPattern, PartitionAnchors
from sdk.backends.cadence.aot.quantizer.pattern_utils import dequantized, insert_node_with_meta, source_of

_aten = torch.ops.aten
_cadence = torch.ops.cadence
_LANES = 4
"""Numbers of channels must be multiples of this number, the lanes of a vector register."""


def _shape(node: Any) -> list[int] | None:
    value = node.meta.get("val", node.meta.get("tensor_meta")) if isinstance(node, Node) else None
    return None if value is None else list(value.shape)


def _weights_and_bias(node: Node) -> tuple[Node, Node] | None:
    if len(node.args) != 3 or node.kwargs:
        return None
    weight, bias = dequantized(node.args[1]), dequantized(node.args[2])
    return None if weight is None or bias is None else (weight, bias)


class _MixedPattern(OneOperatorPattern):
    def fits(self, node: Node) -> bool:
        """Whether the kernel supports the shapes of the layer."""
        raise NotImplementedError

    def anchors(self, node: Node, last: Node) -> PartitionAnchors:
        if len(node.args) != 3 or node.kwargs or not self.fits(node):
            return PartitionAnchors(empty=True)
        return PartitionAnchors(weights=[(node, 1)], biases=[(node, 2)], others=[(node, 0)])


class MixedW8A32LinearPattern(_MixedPattern):
    """A linear layer applied to one row."""

    target = _aten.linear.default
    replacement = _cadence.quantized_w8a32_linear.default

    def fits(self, node: Node) -> bool:
        shape = _shape(node.args[0])
        return shape is not None and shape[-1] % _LANES == 0 and (len(shape) < 2 or shape[-2] == 1)

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        found = _weights_and_bias(anchor_node)
        if found is None:
            return None
        (weight, w_scale, w_zero), (bias, b_scale, b_zero) = source_of(found[0]), source_of(found[1])
        if w_zero or b_zero:
            return None
        transposed = insert_node_with_meta(gm, _aten.transpose.int, (weight, 0, 1), None, anchor_node, weight)
        args = (anchor_node.args[0], transposed, w_scale, bias, b_scale)
        return replace_with_op(gm, anchor_node, self.replacement_op(), args, {}, anchor_node)


class MixedW8A32ConvPattern(_MixedPattern):
    """A 1-D convolution with a kernel of 3 elements."""

    target = _aten.conv1d.default
    replacement = _cadence.quantized_w8a32_conv.default

    def fits(self, node: Node) -> bool:
        weight, x = _shape(node.args[1]), _shape(node.args[0])
        if weight is None or x is None:
            return False
        return weight[0] % _LANES == 0 and weight[1] % _LANES == 0 and weight[2] == 3 and x[-1] == weight[2]

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        found, x = _weights_and_bias(anchor_node), anchor_node.args[0]
        if found is None or not isinstance(x, Node):
            return None
        (weight, w_scale, w_zero), (bias, b_scale, b_zero) = source_of(found[0]), source_of(found[1])
        if w_zero or b_zero:
            return None
        places = [list(get_arg(anchor_node, name)) for name in ("stride", "padding", "dilation")]
        if places != [[1], [0], [1]] or get_arg(anchor_node, "groups") != 1:
            return None
        last = insert_node_with_meta(gm, _aten.permute.default, (x, [0, 2, 1]), None, anchor_node, x)
        kernel = insert_node_with_meta(gm, _aten.permute.default, (weight, [2, 0, 1]), None, anchor_node, weight)
        args = (last, kernel, w_scale, bias, b_scale)
        return replace_with_op(gm, anchor_node, self.replacement_op(), args, {}, anchor_node)


@dataclass(frozen=True)
class _Parameters:
    """Returns the weights and biases of a recurrent layer as arguments of a node."""

    args: tuple[Any, ...]
    meta: dict[str, Any]


class MixedW8A32GruPattern(OneOperatorPattern):
    """One time step of a recurrent layer. Both biases share a scale."""

    target = _aten.gru.input
    replacement = _cadence.quantized_w8a32_gru.default

    def anchors(self, node: Node, last: Node) -> PartitionAnchors:
        shapes = [_shape(node.args[0]), _shape(node.args[1])]
        if node.kwargs or any(shape is None or shape[-1] % _LANES for shape in shapes):
            return PartitionAnchors(empty=True)
        weights = node.args[2]
        assert isinstance(weights, (list, tuple))
        parameters = _Parameters(tuple(weights), node.meta)
        shared = SharedQuantizationSpec((parameters.args[2], node))
        return PartitionAnchors(
            weights=[(parameters, 0), (parameters, 1)],
            biases=[(parameters, 2), (parameters, 3, shared)],
            others=[(node, 0), (node, 1)],
        )

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        parameters = anchor_node.args[2]
        if anchor_node.kwargs or not isinstance(parameters, (list, tuple)) or len(parameters) != 4:
            return None
        found = [dequantized(each) for each in parameters]
        sources = [source_of(each) for each in found if each is not None]
        if len(sources) != 4 or any(zero_point for *_, zero_point in sources):
            return None
        (w_i, w_i_scale, _), (w_h, w_h_scale, _), (b_i, b_scale, _), (b_h, _, _) = sources
        args = (anchor_node.args[0], anchor_node.args[1], w_i, w_i_scale, w_h, w_h_scale, b_i, b_scale, b_h)
        return replace_with_op(gm, anchor_node, self.replacement_op(), args, {}, anchor_node)
