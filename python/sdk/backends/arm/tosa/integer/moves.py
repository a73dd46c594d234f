# SPDX-License-Identifier: BSD-3-Clause
"""Quantised operators that move or select integers, and means."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from torch.fx import Node

from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.integer.call import IntegerCall
from sdk.backends.arm.tosa.integer.parameters import Parameters
from sdk.backends.arm.tosa.integer.registry import lowers_integers
from sdk.backends.arm.tosa.integer.sums import averaged_by_pool, summed_by_convolution
from sdk.backends.arm.tosa.lowering import LOWERINGS
from sdk.backends.arm.tosa.lowering.call import Placed, without_axes
from sdk.backends.arm.tosa.lowering.resizing import resized
from sdk.backends.arm.tosa.lowering.shapes import padded
from sdk.backends.arm.tosa.parts import MOST_READ
from sdk.backends.arm.tosa.rescale import rescale
from sdk.backends.arm.tosa.schema import DType, ResizeMode
from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import is_any_dequantize

_MOVES = tuple(
    f"aten.{name}"
    for name in (
        *("view_copy.default", "permute_copy.default", "squeeze_copy.dims", "unsqueeze_copy.default"),
        *("slice_copy.Tensor", "select_copy.int", "expand_copy.default", "repeat.default", "flip.default"),
        *("index_select.default", "gather.default", "index.Tensor", "upsample_nearest2d.vec"),
        *("embedding.default", "unfold_copy.default", "as_strided_copy.default"),
        *("max_pool2d_with_indices.default", "amax.default", "amin.default"),  # the order of integers is that of floats
    )
)


def _source(call: IntegerCall) -> Node:
    """The quantised operand."""
    (node,) = {node for node in call.node.all_input_nodes if is_any_dequantize(node)}
    return node


def move(call: IntegerCall) -> Any:
    """Uses the lowering of floats on integers, and rescales the result if its scale is another one."""
    given = call.activation(_source(call))
    result = LOWERINGS[name_of(call.node)].function(call)
    several = isinstance(result, list)
    return [_alike(call, each, given) for each in result] if several else _alike(call, result, given)


def _alike(call: IntegerCall, result: Value | Placed, given: Parameters) -> Value | Placed:
    if isinstance(result, Placed):
        return Placed(_with_scale(call, result.value, given), result.order)
    return _with_scale(call, result, given)


def _with_scale(call: IntegerCall, value: Value, given: Parameters) -> Value:
    """Integers with the scale and the zero point of the result."""
    if _have_one_scale(given, call.out):
        return value
    return call.rescaled(value, given.scale / call.out.scale, given.zero_point)


def _have_one_scale(first: Parameters, second: Parameters) -> bool:
    return first.scale == second.scale and first.zero_point == second.zero_point


lowers_integers(*_MOVES)(move)


@lowers_integers("aten.argmax.default", "aten.argmin.default", result=DType.INT32)
def position(call: IntegerCall) -> Placed:
    """Uses the lowering of floats, because integers have the same order as the floats they represent."""
    call.activation("self")
    return LOWERINGS[name_of(call.node)].function(call)


@lowers_integers("aten.constant_pad_nd.default")
def pad(call: IntegerCall) -> Placed:
    """Pads with the value that has been quantised with the operand's parameters."""
    given = call.activation("self")
    number = int(given.quantized(np.float32(call["value"] or 0)))
    placed = padded(call, number)
    return Placed(_with_scale(call, placed.value, given), placed.order)


@lowers_integers("aten.upsample_bilinear2d.vec")
def upsample_bilinear2d(call: IntegerCall) -> Placed:
    """RESIZE's exact sums, which are rescaled once."""
    given = call.activation("input")
    placed, factor = resized(call, ResizeMode.BILINEAR, call["align_corners"])
    if placed.value.dtype == given.dtype:
        return Placed(_with_scale(call, placed.value, given), placed.order)
    sums = placed.value
    if given.zero_point:
        if given.dtype == DType.INT16:
            raise UnsupportedError("its operand is int16 with a zero point")
        sums = call.b.sub(sums, given.zero_point * factor)
    return Placed(call.rescaled(sums, given.scale / call.out.scale / factor), placed.order)


@lowers_integers("aten.where.self")
def where(call: IntegerCall) -> Value:
    """Rescales both operands to the scale of the result, then selects."""
    nodes = [call["self"], call["other"]]
    condition, *values = call.operands(call["condition"], *nodes, dtypes=(DType.BOOL, call.dtype, call.dtype))
    first, second = (_with_scale(call, value, call.activation(node)) for node, value in zip(nodes, values, strict=True))
    return call.b.select(condition, first, second)


@lowers_integers("aten.slice_scatter.default", "aten.index_put.default", "aten.scatter.src", "aten.scatter.value")
def write(call: IntegerCall) -> Any:
    """Uses the lowering of floats on integers that have been rescaled to the scale of the result."""
    if call.get("accumulate"):
        raise UnsupportedError("it adds to the elements instead of replacing them")
    given = {node.args[0]: call.activation(node) for node in call.node.all_input_nodes if is_any_dequantize(node)}

    def resolve(node: Node) -> Placed:
        placed = call.placed(node)
        alike = placed.value if node not in given else _with_scale(call, placed.value, given[node])
        return Placed(alike, placed.order)

    alike = IntegerCall(call.b, call.node, resolve, call.program, call.out)
    result = LOWERINGS[name_of(call.node)].function(alike)
    return result if alike.order is None or isinstance(result, Placed) else Placed(result, alike.order)


@lowers_integers("aten.cat.default")
def cat(call: IntegerCall) -> Value:
    """Rescales the operands to the scale of the result first."""
    nodes = call["tensors"]
    values = [
        _with_scale(call, value, call.activation(node))
        for node, value in zip(nodes, call.operands(*nodes), strict=True)
    ]
    assert call.order is not None
    return call.b.concat(values, call.order.index(call["dim"] % len(call.order)))


def _mean(call: IntegerCall, dims: list[int], keepdim: bool, divide: bool) -> Placed:
    """Sums in int32, which are rescaled once."""
    given, source = call.activation("self"), call.placed("self")
    axes = [source.axis(dim) for dim in dims]
    count = math.prod(source.value.shape[axis] for axis in axes)
    if count > 1 << (31 - (8 if given.dtype == DType.INT8 else 16)):
        raise UnsupportedError(f"it adds {count} integers, whose sum may be beyond int32")
    keeps_scale = divide and _have_one_scale(given, call.out)
    value = averaged_by_pool(call, source.value, axes, given.zero_point) if keeps_scale else None
    if value is None:
        sums = summed_by_convolution(call, source.value, axes, given.zero_point)
        if sums is None:
            wide = rescale(call.b, source.value, 1.0, given.zero_point, DType.INT32)
            sums = call.b.reduce("REDUCE_SUM", wide, axes)
        value = call.rescaled(sums, given.scale / call.out.scale / (count if divide else 1))
    placed = Placed(value, source.order)
    return placed if keepdim else without_axes(call.b, placed, dims)


def _reduction(divide: bool) -> Callable[[IntegerCall], Placed]:
    def lower(call: IntegerCall) -> Placed:
        rank = len(call.shape_of("self"))
        dims = [dim % rank for dim in (call["dim"] or range(rank))]
        return _mean(call, dims, call["keepdim"], divide)

    return lower


lowers_integers("aten.mean.dim")(_reduction(divide=True))
lowers_integers("aten.sum.dim_IntList")(_reduction(divide=False))


@lowers_integers("aten._adaptive_avg_pool2d.default", "aten.avg_pool2d.default")
def average_pool(call: IntegerCall) -> Any:
    """Lowers to a mean if the pool averages the whole image, and to TOSA's pool, which does not count padding,
    otherwise. A window without padding that covers the image is lowered as a mean only if it is large."""
    sizes, name = call.shape_of("self"), name_of(call.node)
    image = [len(sizes) - 2, len(sizes) - 1]
    if name == "aten._adaptive_avg_pool2d.default":
        whole = tuple(call["output_size"]) == (1, 1)
    else:
        window = call["kernel_size"] * (2 // len(call["kernel_size"]))
        whole = tuple(window) == sizes[-2:] and math.prod(window) > MOST_READ
        whole = whole and not any(call["padding"]) and call["divisor_override"] is None
    if whole:
        return _mean(call, image, True, True)
    given = call.activation("self")
    return _alike(call, LOWERINGS[name].function(call), given)
