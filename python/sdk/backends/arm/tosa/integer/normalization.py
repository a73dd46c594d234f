# SPDX-License-Identifier: BSD-3-Clause
"""Norms in int32. Results differ from those of floats by at most one step in int8, and by a few in int16.

Sums over a row are exact. The reciprocal or root of a row is computed with a mantissa and a separate exponent
(`fixed_point`), so that rows of any size keep their precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.integer.call import IntegerCall
from sdk.backends.arm.tosa.integer.fixed_point import headroom, inverse_root, split_sums
from sdk.backends.arm.tosa.integer.registry import lowers_integers
from sdk.backends.arm.tosa.rescale import rescale
from sdk.backends.arm.tosa.schema import DType

_MOST_DIMENSIONS = 4  # of an int16 operand for an Ethos-U55
_MOST_CENTRED, _MOST_SQUARED = 1 << 16, 1 << 14  # elements of int8 whose squares add up to less than 2^30
# Low bits of the squares of wide numbers, which are summed separately; also the bits of the number of squares.
_SPARE = 14


@dataclass(frozen=True)
class _Rows:
    """Rows of `size` integers, minus an integer close to their mean.

    Attributes:
        values: [rows, size], int32.
        total: Their sum, [rows, 1]; at most half of the size. None if no mean is subtracted.
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
    """Returns r and q * 2^2r, where r is chosen so that the product has 30 or 31 bits. A q of 0 is treated as 1."""
    q = b.maximum(q, 1)
    room = b.shift_right(headroom(b, q), 1)
    return room, b.shift_left(q, b.shift_left(room, 1))


def _normalized(b: Builder, rows: _Rows, epsilon: float) -> Value:
    """(x - mean) / sqrt(variance + epsilon) in units of sqrt(size) * 2^-28.5, `epsilon` in squares of a step.

    With c = x - total / size, the squares of a row add up to q = sum(x * x) - total * total / size + size * epsilon,
    and the result is c * sqrt(size / q). q is kept with at least 28 bits, as q * 2^n with an even n. The mean is less
    than half a step, so that at most half of sum(x * x) is subtracted.
    """
    size = rows.size
    more = size * epsilon
    if more > 2.0**29:
        raise UnsupportedError("its epsilon is larger than its operands")
    squares = _sum_of_squares(b, rows.values)
    # With this limit, neither the sum nor epsilon exceeds 30 bits.
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


@dataclass(frozen=True)
class _Squares:
    """The sums of the squares of rows of wide numbers: `mantissa * 2^(18 - k - 2 r)`, in squares of a step.

    Attributes:
        values: The rows times 2^(13 + r), with at most 30 bits, [rows, size].
        mantissa: The mantissa, with at most 31 bits, [rows, 1].
        r, k: int32, [rows, 1]; k is even.
    """

    values: Value
    mantissa: Value
    r: Value
    k: Value


def _wide_squares(b: Builder, values: Value, centred: bool, most: int) -> _Squares:
    """The sums of the squares of values with up to 17 bits, whose mean has 13 more. `2 r + k` is at most `most`."""
    size = values.shape[1]
    more = b.shift_left(values, 13)
    if centred:
        more = b.sub(more, rescale(b, b.reduce("REDUCE_SUM", values, [1]), 2.0**13 / size, 0, DType.INT32))
    largest = b.reduce("REDUCE_MAX", b.unary("ABS", more), [1])
    r = b.minimum(b.sub(headroom(b, largest), 1), most // 2)
    shifted = b.shift_left(more, r)
    high, low = split_sums(b, b.mul(shifted, shifted, 30), 1, _SPARE)
    k = b.minimum(headroom(b, high), b.sub(most, b.shift_left(r, 1)))
    k = b.shift_left(b.shift_right(k, 1), 1)
    less, further = b.maximum(b.sub(_SPARE, k), 0), b.maximum(b.sub(k, _SPARE), 0)
    return _Squares(shifted, b.add(b.shift_left(high, k), b.shift_right(b.shift_left(low, further), less)), r, k)


def _wide_normalized(b: Builder, values: Value, centred: bool, epsilon: float) -> Value:
    """(x - mean) / sqrt(variance + epsilon) of wide numbers, in units of sqrt(size) * 2^-28.

    Half of the mantissa of the sum of the squares, plus size * epsilon in its units, is q * 2^(k + 2 r - 19), and the
    result is c * sqrt(size / q).
    """
    more = values.shape[1] * epsilon
    if more > 2.0**40:
        raise UnsupportedError("its epsilon is larger than its operands")
    most = 120 if not more else min(120, math.floor(48 - math.log2(more)))
    squares = _wide_squares(b, values, centred, most)
    q = b.shift_right(squares.mantissa, 1)
    if more:
        scaled = b.number(round(math.ldexp(more, most - 19)), DType.INT32, 2)
        exponent = b.sub(b.sub(most, b.shift_left(squares.r, 1)), squares.k)
        q = b.add(q, b.shift_right(scaled, b.minimum(exponent, 31)))
    room, mantissa = _even_mantissa(b, q)
    product = b.mul(squares.values, inverse_root(b, mantissa, 2), 30)  # in units of 2^(k / 2 + room - 37)
    exponent = b.add(b.shift_right(squares.k, 1), room)
    less, further = b.maximum(b.sub(9, exponent), 0), b.maximum(b.sub(exponent, 9), 0)
    return b.shift_right(b.shift_left(product, further), less)


def _affine(call: IntegerCall, value: Value, unit: float, size: int, weight: Any, bias: Any) -> Value:
    """Returns the result of a norm over `size` numbers: `value`, in the given unit, times the weight, plus the bias.
    Both are arrays that broadcast, or None."""
    b = call.b
    if weight is None and bias is None:
        return call.rescaled(value, unit / call.out.scale)
    weight = np.ones(1) if weight is None else weight
    bias = np.zeros(1) if bias is None else bias
    largest = float((np.abs(weight) * math.sqrt(size) + np.abs(bias)).max())
    if not 0 < largest < math.inf:
        raise UnsupportedError("its weights are all 0, or some are not finite")
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
        raise UnsupportedError(f"its {name} is not a constant")
    return array.astype(np.float64).reshape(shape)


def _normal(call: IntegerCall, shape: tuple[int, int], centred: bool, epsilon: float) -> tuple[Value, float]:
    """The operand's rows, normalised, and the unit of the results."""
    given, b, size = call.activation("input"), call.b, shape[1]
    wide = given.dtype == DType.INT16
    if wide and b.specification.is_U55_subset and len(call.shape_of("input")) > _MOST_DIMENSIONS:
        # Vela 5.1 and 5.2 read beyond an intermediate result, as if it had the operand's dimensions.
        raise UnsupportedError(f"its int16 operand has {len(call.shape_of('input'))} dimensions; an Ethos-U55 takes 4")
    most = _MOST_CENTRED if centred and not wide else _MOST_SQUARED
    if size > most:
        raise UnsupportedError(f"it normalises {size} numbers; up to {most} are lowered")
    values = rescale(b, b.reshape(call.value("input"), shape), 1.0, given.zero_point, DType.INT32)
    squared = epsilon / given.scale**2
    if wide:
        return _wide_normalized(b, values, centred, squared), math.sqrt(size) * 2.0**-28
    rows = _centred(b, values) if centred else _Rows(values, None)
    return _normalized(b, rows, squared), math.sqrt(size) * 2.0**-28.5


@lowers_integers("aten.native_layer_norm.default")
def layer_norm(call: IntegerCall) -> list[Value]:
    sizes, count = call.shape_of("input"), math.prod(call["normalized_shape"])
    normal, unit = _normal(call, (math.prod(sizes) // count, count), True, call["eps"])
    weights = [_weights(call, name, (1, count)) for name in ("weight", "bias")]
    return [call.b.reshape(_affine(call, normal, unit, count, *weights), sizes)]


@lowers_integers("aten.native_group_norm.default")
def group_norm(call: IntegerCall) -> list[Value]:
    sizes, groups, channels = call.shape_of("input"), call["group"], call["C"]
    count = channels // groups * call["HxW"]
    normal, unit = _normal(call, (call["N"] * groups, count), True, call["eps"])
    normal = call.b.reshape(normal, (call["N"], channels, call["HxW"]))
    weights = [_weights(call, name, (1, channels, 1)) for name in ("weight", "bias")]
    return [call.b.reshape(_affine(call, normal, unit, count, *weights), sizes)]


@lowers_integers("aten.rms_norm.default")
def rms_norm(call: IntegerCall) -> Value:
    sizes, count = call.shape_of("input"), math.prod(call["normalized_shape"])
    epsilon = np.finfo(np.float32).eps if call["eps"] is None else call["eps"]
    normal, unit = _normal(call, (math.prod(sizes) // count, count), False, float(epsilon))
    weight = _weights(call, "weight", (1, count))
    return call.b.reshape(_affine(call, normal, unit, count, weight, None), sizes)


@lowers_integers("aten.linalg_vector_norm.default")
def vector_norm(call: IntegerCall) -> Value:
    """The root of q, a sum of squares: with m = q * 2^2r it is m / sqrt(m / 2^31) * 2^(-15.5 - r). With int16, the
    result has five bits below one quantisation step; operands have up to 32,767 steps."""
    if call["ord"] != 2:
        raise UnsupportedError(f"its order is {call['ord']}; 2 is lowered")
    b, sizes = call.b, call.shape_of("self")
    given = call.activation("self")
    dims = [dim % len(sizes) for dim in call["dim"] or range(len(sizes))]
    kept = [dim for dim in range(len(sizes)) if dim not in dims]
    count = math.prod(sizes[dim] for dim in dims)
    if count > _MOST_SQUARED:
        raise UnsupportedError(f"it adds the squares of {count} numbers; up to {_MOST_SQUARED} are lowered")
    flat = b.reshape(call.value("self", (*kept, *dims)), (math.prod(sizes[dim] for dim in kept), count))
    values = rescale(b, flat, 1.0, given.zero_point, DType.INT32)
    if given.dtype == DType.INT16:
        wide = _wide_squares(b, values, False, 120)
        room, mantissa = _even_mantissa(b, wide.mantissa)
        exponent = b.add(b.add(b.shift_right(wide.k, 1), wide.r), room)
        root = b.mul(mantissa, inverse_root(b, mantissa, 2), 31)
        root = b.shift_right(root, b.minimum(exponent, 31))
        return call.rescaled(b.reshape(root, call.shape), 2.0**-4.5 * given.scale / call.out.scale)
    squares = _sum_of_squares(b, values)
    room, mantissa = _even_mantissa(b, squares)
    root = b.shift_right(b.mul(mantissa, inverse_root(b, mantissa), 31), room)
    root = b.select(b.equal(squares, 0), 0, root)
    return call.rescaled(b.reshape(root, call.shape), 2.0**-13.5 * given.scale / call.out.scale)
