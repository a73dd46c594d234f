# SPDX-License-Identifier: BSD-3-Clause
"""Passes that replace convolutions and pools by operators that have kernels, by variants with channels last, or by
`im2row` and a linear layer."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

import torch
from torch.fx import Node

from sdk.backends.cadence.aot.compiler_utils import quantize_multiplier
from sdk.backends.cadence.aot.node_pass import NodePass, constant_of, dtype_of, insert, shape
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
"""Quantised convolutions with channels first, and their variants with channels last."""
_TWO_DIMENSIONAL = _cadence.quantized_conv2d_nchw.per_tensor
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
    """Adds a bias of zeros to convolutions that have no bias."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.convolution.default, *_FLOATS, _cadence.transposed_convolution.default)

    def rewrite(self, node: Node) -> Node | None:
        return None if node.args[2] is not None else insert(node, node.target, *_with_bias(node), **node.kwargs)


def _with_bias(node: Node) -> tuple[Any, ...]:
    """Returns the arguments of a convolution, with zeros instead of a bias that is None."""
    x, weight, bias, *rest = node.args
    if bias is None:
        channels = shape(node)[-1 if rest[-1] is True else 1]
        bias = insert(node, _FULL, [channels], 0.0, dtype=dtype_of(node))
    return x, weight, bias, *rest


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceAtenConvolutionWithCadenceConvolutionPass(NodePass):
    """Replaces PyTorch's convolution by `cadence::conv1d`, conv2d, conv3d or transposed_convolution."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.convolution.default,)

    def rewrite(self, node: Node) -> Node | None:
        spatial = len(shape(node.args[0])) - 2
        if spatial not in (1, 2, 3) or dtype_of(node) != torch.float32:
            return None
        x, weight, bias = _with_bias(node)[:3]
        stride, padding, dilation = (list(each) for each in _arguments(node, "stride", "padding", "dilation"))
        groups, more = get_arg(node, "groups"), list(get_arg(node, "output_padding"))
        if not get_arg(node, "transposed"):
            return insert(node, _FLOATS[spatial - 1], x, weight, bias, stride, padding, dilation, groups)
        if spatial == 3:
            return None
        flipped = insert(node, _aten.flip.default, weight, list(range(2, spatial + 2)))
        kernel = insert(node, _aten.transpose_copy.int, flipped, 0, 1)
        places = (stride, padding, dilation, more, groups, False)
        return insert(node, _cadence.transposed_convolution.default, x, kernel, bias, *places)


@register_cadence_pass(CadencePassAttribute(opt_level=2))
class ReplaceTrivialConvWithLinear(NodePass):
    """Replaces a convolution whose output has one element per channel by a linear layer over the flattened input."""

    _last = (_cadence.quantized_conv1d_nlc.per_tensor,)
    targets: ClassVar[tuple[Any, ...]] = (*_FLOATS[:2], *tuple(_FIRST)[:2], *_last)

    def rewrite(self, node: Node) -> Node | None:
        x, weight, bias = _arguments(node, "input", "weight", "bias")
        sizes, kernel, result = shape(x), shape(weight), shape(node)
        padding, dilation, groups = _arguments(node, *_PLACES[1:])
        spatial = slice(1, -1) if node.target in self._last else slice(2, None)
        trivial = (
            groups == 1 and sizes[spatial] == kernel[spatial] and not any(padding) and all(d == 1 for d in dilation)
        )
        if not trivial or len(kernel) != len(sizes) or not all(isinstance(size, int) for size in sizes):
            return None
        count = prod(kernel[1:])
        row = insert(node, _aten.view_copy.default, x, [sizes[0], count])
        flat = insert(node, _aten.view_copy.default, weight, [kernel[0], count])
        return insert(node, _aten.view_copy.default, _linear(node, row, flat, bias), result)


def _linear(node: Node, rows: Node, weight: Node, bias: Any) -> Node:
    """Inserts the linear layer for a convolution. The scales of a quantised convolution become a multiplier."""
    if node.target in _FLOATS:
        return insert(node, _aten.linear.default, rows, weight, bias)
    x_zero, w_zero, bias_scale, out_scale, out_zero = _arguments(node, *_NUMBERS[:5])
    multiplier, shift = quantize_multiplier(bias_scale / out_scale)
    numbers = (x_zero, w_zero, multiplier, shift, out_zero, None)
    return insert(node, _cadence.quantized_linear.per_tensor, rows, weight, bias, *numbers)


@register_cadence_pass(CadencePassAttribute(opt_level=3))
class ReplaceConvWithChannelLastConvPass(NodePass):
    """Replaces quantised convolutions by those with channels last, between permutations that other passes remove."""

    targets: ClassVar[tuple[Any, ...]] = tuple(_FIRST)

    def rewrite(self, node: Node) -> Node | None:
        x, weight, bias, groups = _arguments(node, "input", "weight", "bias", "groups")
        rank, target = len(shape(x)), _FIRST[node.target]
        last = _to_last(node, x, rank)
        if node.target == _TWO_DIMENSIONAL and rank == 3:  # the operator for images also accepts 1-D signals
            target = _cadence.quantized_conv1d_nlc.per_tensor
        if node.target == _TWO_DIMENSIONAL and rank == 4 and is_depthwise_conv(groups, shape(x)[1]):
            # (outputs, 1, height, width) as (height, width, outputs)
            moved = insert(node, _aten.permute_copy.default, weight, [2, 3, 0, 1])
            kernel = insert(node, _aten.squeeze_copy.dim, moved, -1)
        elif rank == 3 and is_depthwise_conv(groups, shape(x)[1]):
            kernel = insert(node, _aten.transpose_copy.int, weight, 1, 2)
        else:
            kernel = _to_last(node, weight, rank)
        operands = (last, kernel, bias, *_arguments(node, *_PLACES), *_arguments(node, *_NUMBERS))
        return _to_first(node, insert(node, target, *operands), rank)


@register_cadence_pass(CadencePassAttribute(opt_level=3))
class ReplaceMaxPool2dWithChannelLastMaxPool2dPass(NodePass):
    """Replaces quantised pools by those with channels last."""

    targets: ClassVar[tuple[Any, ...]] = (_cadence.quantized_max_pool2d_nchw.default,)

    def rewrite(self, node: Node) -> Node | None:
        names = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
        last = _to_last(node, node.args[0], 4)
        pool = insert(node, _cadence.quantized_max_pool2d_nhwc.default, last, *_arguments(node, *names))
        return _to_first(node, pool, 4)


@register_cadence_pass(CadencePassAttribute(opt_level=2, use_im2row_transform=True))
class ReplaceConvWithIm2RowAndLinear(NodePass):
    """Replaces a convolution by `im2row` and a linear layer. Runs only on request."""

    targets: ClassVar[tuple[Any, ...]] = (*_FLOATS[:2], *tuple(_FIRST)[:2])

    def rewrite(self, node: Node) -> Node | None:
        x, weight, bias = _arguments(node, "input", "weight", "bias")
        stride, padding, dilation, groups = _arguments(node, *_PLACES)
        if groups != 1:
            return None
        outputs, inputs, *kernel = shape(weight)
        spatial = ((dilation, 1), (padding, 0), (stride, 1))
        places = [_wide(kernel, 1), *(_wide(list(numbers)[-len(kernel) :], first) for numbers, first in spatial)]
        zero = 0 if node.target in _FLOATS else get_arg(node, "input_zero_point")
        rows = insert(node, _cadence.im2row.per_tensor, x, *places, zero, False)
        flat = insert(node, _aten.view_copy.default, weight, [outputs, inputs * prod(kernel)])
        layer = _linear(node, rows, flat, bias)
        moved = insert(node, _aten.transpose_copy.int, layer, 1, 2)
        return insert(node, _aten.view_copy.default, moved, shape(node))


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceIm2RowWithViewPass(NodePass):
    """Replaces `im2row` by a view where there is one window, which is the whole image."""

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


@register_cadence_pass(CadencePassAttribute(opt_level=2))
class ReplaceTransposedConvWithLinearPass(NodePass):
    """Replaces a transposed convolution of one group by `transposed_im2row` and a linear layer."""

    targets: ClassVar[tuple[Any, ...]] = (
        _cadence.transposed_convolution.default,
        _cadence.quantized_transposed_conv.default,
    )

    def rewrite(self, node: Node) -> Node | None:
        x, weight, bias, last = _arguments(node, "input", "weight", "bias", "channel_last")
        outputs, *sizes = shape(weight)
        kernel = sizes[:-1] if last else sizes[1:]
        if get_arg(node, "groups") != 1 or not all(isinstance(size, int) and size for size in sizes):
            return None
        quantized = node.target == _cadence.quantized_transposed_conv.default
        scale = constant_of(get_arg(node, "bias_scale"), _FULL) if quantized else None
        if quantized and not scale:
            return None
        names = (("dilation", 1), ("padding", 0), ("stride", 1), ("output_padding", 0))
        places = [_wide(kernel, 1), *(_wide(get_arg(node, name), first) for name, first in names)]
        zero_point = get_arg(node, "input_zero_point") if quantized else 0
        zero = insert(node, _FULL, [1], zero_point, dtype=torch.int32)
        rows = insert(node, _cadence.transposed_im2row.default, x, *places, zero, last)
        flat = insert(node, _aten.view_copy.default, weight, [outputs, prod(sizes)])
        if quantized:
            factor = (scale or 0.0) / get_arg(node, "out_scale")
            numbers = [insert(node, _FULL, [1], n, dtype=torch.int32) for n in quantize_multiplier(factor)]
            w_zero, out_zero = _arguments(node, "weight_zero_point", "out_zero_point")
            operands = (rows, flat, bias, zero_point, w_zero, *numbers, out_zero, None)
            layer = insert(node, _cadence.quantized_linear.default, *operands)
        else:
            layer = insert(node, _aten.linear.default, rows, flat, bias)
        moved = layer if last else insert(node, _aten.transpose_copy.int, layer, 1, 2)
        return insert(node, _aten.view_copy.default, moved, shape(node))


def _wide(numbers: Any, first: int) -> list[int]:
    """Returns a number for each of two dimensions. For a 1-D operator, the number for the height, which is 1, is
    `first`."""
    return [first, *numbers] if len(numbers) == 1 else list(numbers)
