# SPDX-License-Identifier: BSD-3-Clause
"""Softmax and its logarithm, in int32. Results differ from floats by at most one step in int8, two in int16."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.integer.call import IntegerCall
from sdk.backends.arm.tosa.integer.fixed_point import (
    Total,
    logarithm,
    powers,
    reciprocal,
    short_lookup,
    total,
    wide_lookup,
    wide_total,
)
from sdk.backends.arm.tosa.integer.masking import Counted, counted
from sdk.backends.arm.tosa.integer.registry import lowers_integers
from sdk.backends.arm.tosa.lowering.call import Placed
from sdk.backends.arm.tosa.rescale import rescale
from sdk.backends.arm.tosa.schema import DType

_MOST_BITS = 11
_MOST_ADDED = 1 << _MOST_BITS  # int8 exponentials, which are then rounded to a multiple of 2^-19
_WIDEST = 22  # bits of an exponential for int8
_WIDE = 30  # bits of an exponential for int16
_SHORT, _SHORTER = 15, 14  # bits of an exponential that a table of int16 gives, or two tables of int8
_MOST_SHORT, _MOST_SHORTER = 64, 32
"""The most exponentials of `_SHORT` and `_SHORTER` bits in a sum: rounding them changes a probability by at most a
quarter of a step."""
_MOST_IN_TABLES = 256  # The elements that an NPU looks up in two or three tables before it has loaded the one of int16.


@dataclass(frozen=True)
class _Exponentials:
    """exp(x - max).

    Attributes:
        differences: x - max, in steps of the operand, int32.
        values: The exponentials, in units of 2^-bits.
        total: Their sum, in the same units.
        bits: See `values`.
        rows: The shape of the sums next to the exponentials.
    """

    differences: Value
    values: Value
    total: Total
    bits: int
    rows: tuple[int, ...]


def _exponentials(call: IntegerCall, scores: Counted) -> _Exponentials:
    b, value, axis, scale = call.b, scores.value, scores.axis, scores.given.scale
    size = value.shape[axis]
    if size > _MOST_ADDED:
        raise UnsupportedError(f"it adds {size} numbers; up to {_MOST_ADDED} are lowered")
    largest = b.reduce("REDUCE_MAX", value, [axis])
    differences = b.sub(b.cast(value, DType.INT32), b.cast(largest, DType.INT32))
    if scores.given.dtype == DType.INT16:
        values = scores.kept(powers(b, b.sub(0, differences), scale), 1 << _WIDE)
        sums = wide_total(b, values, axis, _MOST_BITS, scores.empty)
        return _Exponentials(differences, values, sums, _WIDE, largest.shape)
    bits = _bits(b, value.size, size)
    entries = np.rint(np.exp((np.arange(-128, 128) - 127.0) * scale) * (1 << bits)).astype(np.int64)
    if bits == _SHORT:
        positions = b.sub(b.cast(value, DType.INT32), b.sub(b.cast(largest, DType.INT32), 127))
        found = short_lookup(b, positions, np.minimum(entries, (1 << _SHORT) - 1))
    else:
        found = wide_lookup(b, rescale(b, differences, 1.0, 0, DType.INT8, 127), entries)
    values = scores.kept(found, 1 << bits)
    return _Exponentials(differences, values, total(b, values, axis, scores.empty), bits, largest.shape)


def _bits(b: Builder, count: int, size: int) -> int:
    """The bits of `count` exponentials of int8 scores, which are added in rows of the given size. An Ethos-U55 takes
    longest for what is done to each of them, so it gets as few bits as are needed."""
    if b.specification.is_U55_subset:
        if size <= _MOST_SHORTER and count <= _MOST_IN_TABLES:
            return _SHORTER
        if size <= _MOST_SHORT and count > _MOST_IN_TABLES and b.specification.support_extension("int16"):
            return _SHORT
    return min(_WIDEST, 30 - (size - 1).bit_length())


@lowers_integers("aten._softmax.default", "aten._safe_softmax.default")
def softmax(call: IntegerCall) -> Placed:
    """The exponentials divided by their sum."""
    scores, b = counted(call), call.b
    found = _exponentials(call, scores)
    inverse = reciprocal(b, found.total.mantissa, 2 if scores.given.dtype == DType.INT16 else 1)
    room, spare = found.total.room, found.total.spare
    if b.specification.is_U55_subset and not spare:
        # There are fewer inverses than exponentials to shift. No element is masked, because this NPU has no choices, so
        # that each sum has the bits of exp(0), or one bit less if the largest exponential is limited to int16.
        most = 31 - found.bits
        shifted = b.shift_right(inverse, b.sub(most, room))
        shares = b.mul(found.values, b.reshape(shifted, found.rows), 30 - most)
    elif spare:
        shares = b.shift_right(b.mul(found.values, inverse, 30), b.sub(spare, room))
    else:
        shares = b.mul(b.shift_left(found.values, room), inverse, 30)
    return Placed(call.rescaled(shares, 2.0**-30 / call.out.scale), scores.order)


@lowers_integers("aten._log_softmax.default")
def log_softmax(call: IntegerCall) -> Placed:
    """x - max - ln(sum), in units for which the result has at most 30 bits."""
    scores, b = counted(call), call.b
    found = _exponentials(call, scores)
    widest = scores.given.scale * (scores.given.high - scores.given.low) + math.log(_MOST_ADDED)
    unit = widest * 2.0**-29
    exponent = b.sub(30 + found.total.spare - found.bits, found.total.room)
    logarithms = b.add(
        rescale(b, logarithm(b, found.total.mantissa), 2.0**-28 / unit, 0, DType.INT32),
        b.mul(exponent, round(math.log(2) / unit)),
    )
    differences = rescale(b, found.differences, scores.given.scale / unit, 0, DType.INT32)
    wide = b.sub(differences, b.reshape(logarithms, found.rows))
    return Placed(call.rescaled(wide, unit / call.out.scale), scores.order)
