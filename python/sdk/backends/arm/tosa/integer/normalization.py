# SPDX-License-Identifier: BSD-3-Clause
"""Softmax and norms of int8, in int32: at most a step from what floats give.

Sums over a row are exact. What depends on a row alone, its reciprocal or its root, is computed with a mantissa and an
exponent of its own (`fixed_point`), so that rows of any size lose nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch.fx import Node

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.integer.call import IntegerCall
from sdk.backends.arm.tosa.integer.fixed_point import headroom, inverse_root, reciprocal, wide_lookup
from sdk.backends.arm.tosa.integer.parameters import Parameters, is_dequantize
from sdk.backends.arm.tosa.integer.registry import lowers_integers
from sdk.backends.arm.tosa.integer.rescale import rescale
from sdk.backends.arm.tosa.lowering.call import Placed
from sdk.backends.arm.tosa.schema import DType

MASKED = -1e4
"""A constant from here down in place of an element means that a softmax does not count it."""

_MOST_ADDED = 2048  # by a softmax: each is rounded to a bit of 2^-19 then
_WIDEST_EXPONENTIAL = 22  # bits
_MOST_CENTRED, _MOST_SQUARED = 1 << 16, 1 << 14  # elements whose squares add up to less than 2^30


def _of_eight_bits(call: IntegerCall, operand: Any) -> Parameters:
    given = call.activation(operand)
    if given.dtype != DType.INT8:
        raise UnsupportedError("its operand is int16; int8 is lowered")
    return given


def _masked(call: IntegerCall) -> tuple[Node, Node | None, bool]:
    """What a softmax reads, and the condition of a choice between that and a number that does not count: whether what
    counts is the first of the two."""
    source = call["self"]
    if is_dequantize(source):
        return source, None, True
    condition, *both = source.args
    for is_first, (operand, other) in ((True, both), (False, both[::-1])):
        number = None if is_dequantize(other) else call.placed(other).value.constant
        if is_dequantize(operand) and number is not None and bool((number <= MASKED).all()):
            return operand, condition, is_first
    raise UnsupportedError("its operand is not quantised")


@lowers_integers("aten._softmax.default", "aten._safe_softmax.default")
def softmax(call: IntegerCall) -> Placed:
    """exp(x - max) by a table of the 256 differences, divided by their sum. A row of which nothing counts is 0."""
    operand, condition, counts = _masked(call)
    given, source, b = _of_eight_bits(call, operand), call.placed(operand), call.b
    if not source.order:
        raise UnsupportedError("its operand has no dimensions")
    axis = source.axis(call["dim"])
    size = source.value.shape[axis]
    if size > _MOST_ADDED:
        raise UnsupportedError(f"it adds {size} numbers; up to {_MOST_ADDED} are lowered")
    value, mask = source.value, None
    if condition is not None:
        (mask,) = call.operands(condition, dtype=DType.BOOL)
        value = b.transpose(value, [source.order.index(dim) for dim in call.order or ()])
        source = Placed(value, call.order or ())
        axis = source.axis(call["dim"])
        mask = mask if counts else b.logical_not(mask)
        value = b.select(mask, value, -128)
    differences = b.sub(b.cast(value, DType.INT32), b.cast(b.reduce("REDUCE_MAX", value, [axis]), DType.INT32))
    bits = min(_WIDEST_EXPONENTIAL, 30 - (size - 1).bit_length())
    entries = np.rint(np.exp((np.arange(-128, 128) - 127.0) * given.scale) * (1 << bits))
    exponentials = wide_lookup(b, rescale(b, differences, 1.0, 0, DType.INT8, 127), entries)
    if mask is not None:
        exponentials = b.select(mask, exponentials, 0)
    total = b.reduce("REDUCE_SUM", exponentials, [axis])
    room = headroom(b, total)
    inverse = reciprocal(b, b.shift_left(total, room))
    shares = b.mul(b.shift_left(exponentials, room), inverse, 30)
    return Placed(call.rescaled(shares, 2.0**-30 / call.out.scale), source.order)


@dataclass(frozen=True)
class _Rows:
    """Rows of `size` integers, less a number that is close to their mean.

    Attributes:
        values: [rows, size], int32.
        total: Their sum, [rows, 1]; at most half of the size. None: nothing was subtracted, nor is a mean.
    """

    values: Value
    total: Value | None

    @property
    def size(self) -> int:
        return self.values.shape[1]


def _centred(b: Builder, values: Value) -> _Rows:
    size = values.shape[1]
    total = b.reduce("REDUCE_SUM", values, [1])
    mean = rescale(b, total, 1 / size, 0, DType.INT32)
    return _Rows(b.sub(values, mean), b.sub(total, b.mul(mean, size)))


def _sum_of_squares(b: Builder, values: Value) -> Value:
    return b.reduce("REDUCE_SUM", b.mul(values, values), [1])


def _even_mantissa(b: Builder, q: Value) -> tuple[Value, Value]:
    """r and q * 2^2r, which has 30 or 31 bits; 0 becomes 1 before."""
    q = b.maximum(q, 1)
    room = b.shift_right(headroom(b, q), 1)
    return room, b.shift_left(q, b.shift_left(room, 1))


def _normalized(b: Builder, rows: _Rows, epsilon: float) -> Value:
    """(x - mean) / sqrt(variance + epsilon) in units of sqrt(size) * 2^-28.5, `epsilon` in squares of a step.

    With c = x - total / size, the squares of a row add up to q = sum(x * x) - total * total / size + size * epsilon,
    and the result is c * sqrt(size / q). Of q there are at least 28 bits: q * 2^n, with an even n. The mean is less
    than half a step, so that at most half of the sum of the squares is subtracted.
    """
    size = rows.size
    more = size * epsilon
    if more > 2.0**29:
        raise UnsupportedError("its epsilon is larger than its operands")
    squares = _sum_of_squares(b, rows.values)
    # Neither the sum nor epsilon exceeds 30 bits then.
    most = 30 if more < 1 else math.floor(29 - math.log2(more))
    n = b.minimum(b.sub(b.unary("CLZ", squares), 2), most)
    half = b.shift_right(n, 1)
    n = b.shift_left(half, 1)
    q = b.shift_left(squares, n)
    if rows.total is not None:
        share = rescale(b, rows.total, 2.0**28 / size, 0, DType.INT32)
        q = b.sub(q, b.mul(b.shift_left(rows.total, n), share, 28))
    if more:
        scaled = b.number(round(math.ldexp(more, most)), DType.INT32, 2)
        q = b.add(q, b.shift_right(scaled, b.sub(most, n)))
    room, mantissa = _even_mantissa(b, q)
    root = inverse_root(b, mantissa)
    values = b.shift_left(rows.values, 14)
    if rows.total is not None:
        values = b.sub(values, rescale(b, rows.total, 2.0**14 / size, 0, DType.INT32))
    return b.mul(b.shift_left(values, b.add(half, room)), root, 30)


def _affine(call: IntegerCall, value: Value, size: int, weight: Any, bias: Any) -> Value:
    """The result of a norm: `_normalized` times the weight, plus the bias. Both are arrays that broadcast, or None."""
    b, unit = call.b, math.sqrt(size) * 2.0**-28.5
    if weight is None and bias is None:
        return call.rescaled(value, unit / call.out.scale)
    weight = np.ones(1) if weight is None else weight
    bias = np.zeros(1) if bias is None else bias
    largest = float((np.abs(weight) * math.sqrt(size) + np.abs(bias)).max())
    if not 0 < largest < math.inf:
        raise UnsupportedError("its weights are 0 or no finite numbers")
    step = largest * 2.0**-30  # the largest result is 2^30 of these
    factors = np.rint(weight * (unit / step) * 2.0**28).astype(np.int32)
    offsets = np.rint(bias / step).astype(np.int32)
    ranked = [b.with_rank(b.constant(each, DType.INT32), value.rank) for each in (factors, offsets)]
    return call.rescaled(b.add(b.mul(value, ranked[0], 28), ranked[1]), step / call.out.scale)


def _weights(call: IntegerCall, name: str, shape: tuple[int, ...]) -> Any:
    if call[name] is None:
        return None
    array = call.constant(name)
    if array is None:
        raise UnsupportedError(f"its {name} is no constant")
    return array.astype(np.float64).reshape(shape)


def _rows_of(call: IntegerCall, shape: tuple[int, int], most: int) -> tuple[Value, Parameters]:
    """The operand without its zero point."""
    given = _of_eight_bits(call, "input")
    if shape[1] > most:
        raise UnsupportedError(f"it normalises {shape[1]} numbers; up to {most} are lowered")
    return rescale(call.b, call.b.reshape(call.value("input"), shape), 1.0, given.zero_point, DType.INT32), given


@lowers_integers("aten.native_layer_norm.default")
def layer_norm(call: IntegerCall) -> list[Value]:
    sizes, count = call.shape_of("input"), math.prod(call["normalized_shape"])
    values, given = _rows_of(call, (math.prod(sizes) // count, count), _MOST_CENTRED)
    normal = _normalized(call.b, _centred(call.b, values), call["eps"] / given.scale**2)
    weights = [_weights(call, name, (1, count)) for name in ("weight", "bias")]
    return [call.b.reshape(_affine(call, normal, count, *weights), sizes)]


@lowers_integers("aten.native_group_norm.default")
def group_norm(call: IntegerCall) -> list[Value]:
    sizes, groups, channels = call.shape_of("input"), call["group"], call["C"]
    count = channels // groups * call["HxW"]
    values, given = _rows_of(call, (call["N"] * groups, count), _MOST_CENTRED)
    normal = _normalized(call.b, _centred(call.b, values), call["eps"] / given.scale**2)
    normal = call.b.reshape(normal, (call["N"], channels, call["HxW"]))
    weights = [_weights(call, name, (1, channels, 1)) for name in ("weight", "bias")]
    return [call.b.reshape(_affine(call, normal, count, *weights), sizes)]


@lowers_integers("aten.rms_norm.default")
def rms_norm(call: IntegerCall) -> Value:
    sizes, count = call.shape_of("input"), math.prod(call["normalized_shape"])
    values, given = _rows_of(call, (math.prod(sizes) // count, count), _MOST_SQUARED)
    epsilon = np.finfo(np.float32).eps if call["eps"] is None else call["eps"]
    normal = _normalized(call.b, _Rows(values, None), float(epsilon) / given.scale**2)
    weight = _weights(call, "weight", (1, count))
    return call.b.reshape(_affine(call, normal, count, weight, None), sizes)


@lowers_integers("aten.linalg_vector_norm.default")
def vector_norm(call: IntegerCall) -> Value:
    """The root of q, a sum of squares: with m = q * 2^2r it is m / sqrt(m / 2^31) * 2^(-15.5 - r)."""
    if call["ord"] != 2:
        raise UnsupportedError(f"its order is {call['ord']}; 2 is lowered")
    b, sizes = call.b, call.shape_of("self")
    given = _of_eight_bits(call, "self")
    dims = [dim % len(sizes) for dim in call["dim"] or range(len(sizes))]
    kept = [dim for dim in range(len(sizes)) if dim not in dims]
    count = math.prod(sizes[dim] for dim in dims)
    if count > _MOST_SQUARED:
        raise UnsupportedError(f"it adds the squares of {count} numbers; up to {_MOST_SQUARED} are lowered")
    flat = b.reshape(call.value("self", (*kept, *dims)), (math.prod(sizes[dim] for dim in kept), count))
    squares = _sum_of_squares(b, rescale(b, flat, 1.0, given.zero_point, DType.INT32))
    room, mantissa = _even_mantissa(b, squares)
    root = b.shift_right(b.mul(mantissa, inverse_root(b, mantissa), 31), room)
    root = b.select(b.equal(squares, 0), 0, root)
    return call.rescaled(b.reshape(root, call.shape), 2.0**-13.5 * given.scale / call.out.scale)
