# SPDX-License-Identifier: BSD-3-Clause
"""Functions of int32 tensors: tables with wide results, sums, logarithms, reciprocals and roots by Newton's method.

A mantissa is a positive int32 that is shifted left until it has 31 bits (or 30), so that `m / 2^31` is from 0.5 (or
0.25) to 1. A table gives the first guess from the mantissa's eight highest bits, with an error of 0.5 %. One step of
Newton's method squares the error to 2^-14, which is 0.02 steps of an int8 result; a second one to 2^-27, for int16.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.rescale import rescale
from sdk.backends.arm.tosa.schema import DType, Op
from sdk.backends.arm.tosa.types import numpy_type

_LARGE = 1 << 16  # beyond int16

GUESSES = np.arange(-128, 128)
"""The indices of a guess: the mantissa divided by 2^23, minus 128."""


def lookup(b: Builder, index: Value, entries: np.ndarray) -> Value:
    """TABLE: looks up one of 256 int8 results by an int8 index."""
    table = b.constant(np.asarray(entries).astype(np.int8), DType.INT8)
    return b.emit(Op["TABLE"], [index, table], index.shape, DType.INT8)


def wide_lookup(b: Builder, index: Value, entries: np.ndarray) -> Value:
    """Looks up one of 256 results of more than eight bits by an int8 index, with a table for each base-256 digit."""
    digits: list[np.ndarray] = []
    rest = np.asarray(entries).astype(np.int64)
    while not digits or rest.any():
        digits.append((rest + 128) % 256 - 128)
        rest = (rest - digits[-1]) >> 8
    parts = [_placed(b, lookup(b, index, digit), place) for place, digit in enumerate(digits)]
    total = parts[0]
    for part in parts[1:]:
        total = b.add(total, part)
    return total


def _placed(b: Builder, digit: Value, place: int) -> Value:
    """Returns a digit times 2^(8 place)."""
    wide = b.cast(digit, DType.INT32)
    return b.shift_left(wide, 8 * place) if place else wide


def short_lookup(b: Builder, positions: Value, entries: np.ndarray) -> Value:
    """Looks up one of 256 int16 results by int32 positions from -128 to 127. TABLE of int16 interpolates between 513
    points, of which each second one is read."""
    points = np.append(np.repeat(entries, 2), entries[-1])
    table = b.constant(points.astype(np.int16), DType.INT16)
    index = rescale(b, positions, 256.0, 0, DType.INT16)
    found = b.emit(Op["TABLE"], [index, table], index.shape, DType.INT32)
    return b.cast(rescale(b, found, 1 / 128, 0, DType.INT16), DType.INT32)


def gathered(b: Builder, positions: Value, entries: np.ndarray, dtype: DType) -> Value:
    """GATHER: elements of a table of any length, at int32 positions."""
    rows = b.constant(np.asarray(entries).reshape(1, -1, 1).astype(numpy_type(dtype)), dtype)
    return b.reshape(b.gather(rows, b.reshape(positions, (1, positions.size))), positions.shape)


def headroom(b: Builder, value: Value) -> Value:
    """Returns the number of bits by which a positive int32 can be shifted left; 31 for 0."""
    return b.sub(b.unary("CLZ", value), 1)


def _guess(b: Builder, mantissa: Value, results: np.ndarray) -> Value:
    """The first guess for a mantissa, in units of 2^-29: `results` has one, from 1 to 2, for each of `GUESSES`."""
    index = rescale(b, mantissa, 2.0**-23, 0, DType.INT8, -128)
    parts = lookup(b, index, np.rint((results - 1) * 255) - 128)
    return b.add(rescale(b, parts, 2.0**29 / 255, -128, DType.INT32), 1 << 29)


def reciprocal(b: Builder, mantissa: Value, steps: int = 1) -> Value:
    """2^60 / m of a mantissa of 31 bits: `steps` of r * (2 - z * r) with z = m / 2^31."""
    r = _guess(b, mantissa, np.clip(256 / np.maximum(GUESSES + 128, 1), 1, 2))
    for _ in range(steps):
        r = b.mul(r, b.sub(1 << 30, b.mul(mantissa, r, 31)), 29)
    return r


def inverse_root(b: Builder, mantissa: Value, steps: int = 1) -> Value:
    """2^29 / sqrt(m / 2^31) of a mantissa of 30 or 31 bits: `steps` of r * (3 - z * r * r) / 2 with z = m / 2^31."""
    r = _guess(b, mantissa, np.clip(np.sqrt(256 / np.maximum(GUESSES + 128, 1)), 1, 2))
    for _ in range(steps):
        r = b.mul(r, b.sub(3 << 28, b.mul(mantissa, b.mul(r, r, 30), 31)), 29)
    return r


def logarithm(b: Builder, mantissa: Value) -> Value:
    """2^28 ln(m / 2^30) of a mantissa of 31 bits, linear between 256 points: at most 2^-19 too small."""
    points = np.rint(np.log1p(np.arange(257) / 256) * (1 << 28)).astype(np.int64)
    cells = b.shift_right(mantissa, 22)
    index = rescale(b, b.sub(cells, 256), 1.0, 0, DType.INT8, -128)
    rest = b.sub(mantissa, b.shift_left(cells, 22))
    slopes = wide_lookup(b, index, np.diff(points))
    return b.add(wide_lookup(b, index, points[:-1]), b.mul(rest, slopes, 22))


def powers(b: Builder, steps: Value, scale: float) -> Value:
    """exp(-steps * scale) in units of 2^-30, of int32 steps from 0 to 65,535: the product of the exponentials of their
    high and low bytes, each from a table."""
    high = b.shift_right(steps, 8)
    low = b.sub(steps, b.shift_left(high, 8))
    factors = [
        wide_lookup(
            b,
            rescale(b, byte, 1.0, 0, DType.INT8, -128),
            np.rint(np.exp(-np.arange(256) * size * scale) * (1 << 30)),
        )
        for byte, size in ((high, 256.0), (low, 1.0))
    ]
    return b.mul(factors[0], factors[1], 30)


def scaled(b: Builder, value: Value, less: Value) -> Value:
    """value / 2^less, rounded, and clamped to a range that is a little wider than int16. If `less` is negative, the
    value must have at least twelve bits, or be 0."""
    half = b.shift_left(1, b.minimum(b.maximum(b.sub(less, 1), 0), 30))
    small = b.shift_right(b.add(value, b.select(b.greater(less, 0), half, 0)), b.minimum(b.maximum(less, 0), 31))
    # If `less` is negative, a shift by 4 already exceeds int16; a limit of 14 keeps the result in int32.
    large = b.shift_left(limited(b, value), b.minimum(b.maximum(b.sub(0, less), 0), 14))
    return limited(b, b.select(b.greater_equal(less, 0), small, large))


def limited(b: Builder, value: Value) -> Value:
    """Clamps to a range that is a little wider than int16."""
    return b.minimum(b.maximum(value, -_LARGE), _LARGE)


@dataclass(frozen=True)
class Total:
    """Sums, as mantissa * 2^(spare - room).

    Attributes:
        mantissa: The mantissa, with 31 bits.
        room: The bits by which each sum is shifted left, as int32.
        spare: The bits by which all sums are then shifted right.
    """

    mantissa: Value
    room: Value
    spare: int


def total(b: Builder, values: Value, axis: int, empty: bool) -> Total:
    """The sum of non-negative numbers along an axis, which fits int32. Where `empty` is set, a sum of 0 becomes 1. The
    sums for an Ethos-U55 are a row: a column takes the memory of 16."""
    found = b.reduce("REDUCE_SUM", values, [axis])
    found = b.reshape(found, (1, found.size)) if b.specification.is_U55_subset else found
    found = b.maximum(found, 1) if empty else found
    room = headroom(b, found)
    return Total(b.shift_left(found, room), room, 0)


def split_sums(b: Builder, values: Value, axis: int, spare: int) -> tuple[Value, Value]:
    """The sum of numbers from 0 to 2^31 along an axis of at most 2^spare numbers, in two parts; the second has the
    lowest `spare` bits."""
    high = b.shift_right(values, spare)
    low = b.sub(values, b.shift_left(high, spare))
    high, low = (b.reduce("REDUCE_SUM", each, [axis]) for each in (high, low))
    carry = b.shift_right(low, spare)
    return b.add(high, carry), b.sub(low, b.shift_left(carry, spare))


def wide_total(b: Builder, values: Value, axis: int, spare: int, empty: bool) -> Total:
    """Sums numbers from 0 to 2^30 along an axis with up to 2^spare elements. The lowest `spare` bits are summed
    separately. The sum must be at least 2^30 unless `empty` is set: its high part is then raised to that of 2^30."""
    high, low = split_sums(b, values, axis, spare)
    high = b.maximum(high, 1 << 30 - spare) if empty else high
    room = headroom(b, high)
    return Total(b.add(b.shift_left(high, room), b.shift_right(low, b.sub(spare, room))), room, spare)
