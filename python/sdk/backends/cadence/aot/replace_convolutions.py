# SPDX-License-Identifier: BSD-3-Clause
"""Passes that replace convolutions and pools: by operators with kernels, with channels last, by rows and a linear
layer."""

from __future__ import annotations

from typing import Any, ClassVar

from torch.fx import Node

from sdk.backends.cadence.aot.node_pass import NodePass, dtype_of, insert, shape
from sdk.backends.cadence.aot.pass_utils import CadencePassAttribute, get_arg, register_cadence_pass
from sdk.backends.cadence.aot.utils import is_depthwise_conv
from sdk.exir.dialects._ops import ops as exir_ops

_aten = exir_ops.edge.aten
_cadence = exir_ops.edge.cadence
_FULL = _aten.full.default
_FLOATS = (_cadence.conv1d.default, _cadence.conv2d.default, _cadence.conv3d.default)
_FIRST = {
    _cadence.quantized_conv2d_nchw.per_tensor: _cadence.quantized_conv2d_nhwc.per_tensor,
    _cadence.quantized_conv1d_ncl.per_tensor: _cadence.quantized_conv1d_nlc.per_tensor,
    _cadence.quantized_depthwise_conv1d_ncl.per_tensor: _cadence.quantized_depthwise_conv1d_nlc.per_tensor,
}
"""Quantised convolutions with channels first, and those with channels last."""
_PLACES = ("stride", "padding", "dilation", "groups")
_NUMBERS = (
    *("input_zero_point", "weight_zero_point", "bias_scale", "out_scale"),
    *("out_zero_point", "out_multiplier", "out_shift"),
)


def _arguments(node: Node, *names: str) -> list[Any]:
    return [get_arg(node, name) for name in names]


def _to_last(node: Node, source: Any, rank: int) -> Node:
    return insert(node, _aten.permute_copy.default, source, [0, *range(2, rank), 1])


def _to_first(node: Node, source: Any, rank: int) -> Node:
    return insert(node, _aten.permute_copy.default, source, [0, rank - 1, *range(1, rank - 1)])


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceConvolutionOptionalArgsWithConcreteArgsPass(NodePass):
    """Convolutions have a bias, of zeros if the model has none."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.convolution.default,)

    def rewrite(self, node: Node) -> Node | None:
        if node.args[2] is not None:
            return None
        weight, groups = shape(node.args[1]), get_arg(node, "groups")
        outputs = weight[1] * groups if get_arg(node, "transposed") else weight[0]
        zeros = insert(node, _FULL, [outputs], 0.0, dtype=dtype_of(node))
        return insert(node, _aten.convolution.default, *node.args[:2], zeros, *node.args[3:])


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceAtenConvolutionWithCadenceConvolutionPass(NodePass):
    """`cadence::conv1d`, conv2d, conv3d and transposed_convolution in place of PyTorch's convolution."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.convolution.default,)

    def rewrite(self, node: Node) -> Node | None:
        x, weight, bias = node.args[:3]
        spatial = len(shape(x)) - 2
        if bias is None or spatial not in (1, 2, 3) or str(dtype_of(x)) != "torch.float32":
            return None
        stride, padding, dilation = (list(each) for each in _arguments(node, "stride", "padding", "dilation"))
        groups, more = get_arg(node, "groups"), list(get_arg(node, "output_padding"))
        if not get_arg(node, "transposed"):
            return insert(node, _FLOATS[spatial - 1], x, weight, bias, stride, padding, dilation, groups)
        if spatial == 3 or groups != 1:
            return None
        flipped = insert(node, _aten.flip.default, weight, list(range(2, spatial + 2)))
        kernel = insert(node, _aten.transpose_copy.int, flipped, 0, 1)
        places = (stride, padding, dilation, more, groups, False)
        return insert(node, _cadence.transposed_convolution.default, x, kernel, bias, *places)


@register_cadence_pass(CadencePassAttribute(opt_level=2))
class ReplaceTrivialConvWithLinear(NodePass):
    """A convolution of one result in each channel is a linear layer of all elements."""

    targets: ClassVar[tuple[Any, ...]] = (*_FLOATS[:2], *tuple(_FIRST)[:2])

    def rewrite(self, node: Node) -> Node | None:
        x, weight, bias = _arguments(node, "input", "weight", "bias")
        sizes, kernel, result = shape(x), shape(weight), shape(node)
        padding, dilation, groups = _arguments(node, *_PLACES[1:])
        trivial = groups == 1 and sizes[2:] == kernel[2:] and not any(padding) and all(d == 1 for d in dilation)
        if not trivial or not all(isinstance(size, int) for size in sizes):
            return None
        count = 1
        for size in kernel[1:]:
            count *= size
        row = insert(node, _aten.view_copy.default, x, [sizes[0], count])
        flat = insert(node, _aten.view_copy.default, weight, [kernel[0], count])
        if node.target in _FLOATS:
            layer = insert(node, _aten.linear.default, row, flat, bias)
        else:
            x_zero, w_zero, out_zero, multiplier, shift = _arguments(
                node, "input_zero_point", "weight_zero_point", "out_zero_point", "out_multiplier", "out_shift"
            )
            numbers = (x_zero, w_zero, multiplier, shift, out_zero, None)
            layer = insert(node, _cadence.quantized_linear.per_tensor, row, flat, bias, *numbers)
        return insert(node, _aten.view_copy.default, layer, result)


@register_cadence_pass(CadencePassAttribute(opt_level=3))
class ReplaceConvWithChannelLastConvPass(NodePass):
    """Quantised convolutions have channels last, with permutations around them that other passes remove."""

    targets: ClassVar[tuple[Any, ...]] = tuple(_FIRST)

    def rewrite(self, node: Node) -> Node | None:
        x, weight, bias, groups = _arguments(node, "input", "weight", "bias", "groups")
        rank = len(shape(x))
        last = _to_last(node, x, rank)
        kernel = _to_last(node, weight, rank)
        two_dimensional = node.target == _cadence.quantized_conv2d_nchw.per_tensor
        if two_dimensional and is_depthwise_conv(groups, shape(x)[1]):
            # (outputs, 1, height, width) as (height, width, outputs)
            outputs, _, *window = shape(weight)
            moved = insert(node, _aten.permute_copy.default, weight, [*range(2, rank), 0, 1])
            kernel = insert(node, _aten.view_copy.default, moved, [*window, outputs])
        operands = (last, kernel, bias, *_arguments(node, *_PLACES), *_arguments(node, *_NUMBERS))
        return _to_first(node, insert(node, _FIRST[node.target], *operands), rank)


@register_cadence_pass(CadencePassAttribute(opt_level=3))
class ReplaceMaxPool2dWithChannelLastMaxPool2dPass(NodePass):
    """Quantised pools have channels last."""

    targets: ClassVar[tuple[Any, ...]] = (_cadence.quantized_max_pool2d_nchw.default,)

    def rewrite(self, node: Node) -> Node | None:
        names = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
        last = _to_last(node, node.args[0], 4)
        pool = insert(node, _cadence.quantized_max_pool2d_nhwc.default, last, *_arguments(node, *names))
        return _to_first(node, pool, 4)


@register_cadence_pass(CadencePassAttribute(opt_level=2, use_im2row_transform=True))
class ReplaceConvWithIm2RowAndLinear(NodePass):
    """A convolution is a linear layer of its windows. On request, for processors whose linear layer is faster."""

    targets: ClassVar[tuple[Any, ...]] = (*_FLOATS[:2], *tuple(_FIRST)[:2])

    def rewrite(self, node: Node) -> Node | None:
        x, weight, bias = _arguments(node, "input", "weight", "bias")
        stride, padding, dilation, groups = _arguments(node, *_PLACES)
        if groups != 1:
            return None
        outputs, inputs, *kernel = shape(weight)
        one = len(kernel) == 1
        # A signal is an image of height 1.
        places = [[1, *kernel] if one else kernel]
        for numbers, first in ((dilation, 1), (padding, 0), (stride, 1)):
            places.append([first, numbers[-1]] if one else list(numbers))
        quantized = node.target not in _FLOATS
        zero = get_arg(node, "input_zero_point") if quantized else 0
        rows = insert(node, _cadence.im2row.per_tensor, x, *places, zero, False)
        count = inputs
        for size in kernel:
            count *= size
        flat = insert(node, _aten.view_copy.default, weight, [outputs, count])
        if quantized:
            names = ("weight_zero_point", "out_multiplier", "out_shift", "out_zero_point")
            operands = (rows, flat, bias, zero, *_arguments(node, *names), None)
            layer = insert(node, _cadence.quantized_linear.per_tensor, *operands)
        else:
            layer = insert(node, _aten.linear.default, rows, flat, bias)
        moved = insert(node, _aten.transpose_copy.int, layer, 1, 2)
        return insert(node, _aten.view_copy.default, moved, shape(node))


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceIm2RowWithViewPass(NodePass):
    """The windows of one element, or the only window, are a view."""

    targets: ClassVar[tuple[Any, ...]] = (_cadence.im2row.default, _cadence.im2row.per_tensor)

    def rewrite(self, node: Node) -> Node | None:
        kernel, dilation, padding = _arguments(node, "kernel_size", "dilation", "padding")
        if any(padding) or get_arg(node, "channel_last"):
            return None
        sizes, result = shape(node.args[0]), shape(node)
        if result[1] != 1 or any(d != 1 for d in dilation) or not all(isinstance(size, int) for size in sizes):
            return None
        image = sizes[2:] if len(sizes) == 4 else [1, sizes[2]]
        return insert(node, _aten.view_copy.default, node.args[0], result) if list(kernel) == image else None
