# SPDX-License-Identifier: BSD-3-Clause
"""Powers and angles of int16, in int32. Results differ from those of floats by at most one step."""

from __future__ import annotations

import math

import numpy as np
from torch.fx import Node

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.integer.call import IntegerCall
from sdk.backends.arm.tosa.integer.fixed_point import gathered, headroom, powers, reciprocal, scaled
from sdk.backends.arm.tosa.integer.parameters import Parameters
from sdk.backends.arm.tosa.integer.quotients import shrunk
from sdk.backends.arm.tosa.rescale import rescale
from sdk.backends.arm.tosa.schema import DType, Op

_INTEGERS = np.arange(-(1 << 15), 1 << 15)
_BITS = 30  # of an operand or a logarithm
_FRACTION = 16  # bits of an exponent below 1
_MOST_EXPONENT = 1 << 13
_EIGHTH = (1 << 15) - 1 << 7  # a quarter of pi, in units of an angle
_GREAT = 1 << 20  # beyond int16


def angle(call: IntegerCall, nodes: list[Node], first: Parameters, second: Parameters) -> Value:
    """atan2(y, x). TABLE gives the arctangent of the smaller magnitude divided by the larger one."""
    b = call.b
    operands = call.wide_operands(nodes)
    larger = max(first.scale, second.scale)
    y, x = (
        shrunk(b, b.shift_left(value, _BITS - 16), each.scale / larger)
        for value, each in zip(operands, (first, second), strict=True)
    )
    sizes = b.unary("ABS", y), b.unary("ABS", x)
    large, small = b.maximum(b.maximum(*sizes), 1), b.minimum(*sizes)
    room = headroom(b, large)
    share = b.mul(b.shift_left(small, room), reciprocal(b, b.shift_left(large, room), 2), _BITS)
    index = rescale(b, b.sub(share, 1 << _BITS - 1), 2.0 ** (16 - _BITS), 0, DType.INT16)
    entries = np.rint(np.arctan(np.arange(513) / 512) * ((1 << 15) - 1) / (math.pi / 4))
    found = b.emit(Op["TABLE"], [index, b.constant(entries.astype(np.int16), DType.INT16)], index.shape, DType.INT32)
    found = b.select(b.greater(sizes[0], sizes[1]), b.sub(2 * _EIGHTH, found), found)
    found = b.select(b.greater(0, x), b.sub(4 * _EIGHTH, found), found)
    # The sign comes from y itself, which may be smaller than one step of x.
    sign = b.select(b.greater(0, operands[0]), -1, 1, DType.INT32)
    return call.rescaled(b.mul(found, sign), math.pi / 4 / _EIGHTH / call.out.scale)


def power(call: IntegerCall, nodes: list[Node], first: Parameters, second: Parameters) -> Value:
    """2^(b log2 |a|), negative for odd powers of negative numbers. NaN becomes 0, and a negative power of 0 the largest
    number.

    GATHER takes log2 |a| from a table. -b log2 |a| is `whole + rest / 2^16`: the result is 2^-whole times the power of
    the rest, divided by its scale.
    """
    b = call.b
    base, exponent = call.wide_operands(nodes)
    logarithms = np.log2(np.maximum(np.abs(_INTEGERS), 1) * first.scale)
    widest = float(np.abs(logarithms).max())
    most = second.scale * (1 << 15)
    if not widest * most < _MOST_EXPONENT:
        raise UnsupportedError(f"its exponents are as large as {most:.0f}")
    bits = _BITS - math.frexp(widest)[1]
    entries = np.rint(np.ldexp(logarithms, bits))
    product = b.mul(b.shift_left(exponent, _BITS - 15), gathered(b, b.add(base, 1 << 15), entries, DType.INT32), _BITS)
    # In units of `second.scale` times 2^(15 - bits).
    found = b.sub(0, rescale(b, product, math.ldexp(second.scale, 15 - bits + _FRACTION), 0, DType.INT32))
    whole = b.shift_right(found, _FRACTION)
    rest = b.sub(found, b.shift_left(whole, _FRACTION))
    factor, shift = math.frexp(1 / call.out.scale)
    shares = b.minimum(powers(b, rest, math.log(2) / (1 << _FRACTION)), (1 << _BITS) - 1)  # as RESCALE expects
    result = rescale(b, shares, factor, 0, DType.INT32)
    result = scaled(b, result, b.add(_BITS - shift, whole))
    of_zero = b.select(b.greater(exponent, 0), 0, b.select(b.greater(0, exponent), _GREAT, result))
    result = b.select(b.equal(base, 0), of_zero, result)
    result = b.select(b.greater(0, base), b.mul(result, _signs(b, exponent, second.scale)), result)
    return call.rescaled(result, 1.0)


def _signs(b: Builder, exponent: Value, scale: float) -> Value:
    """1 for even integers, -1 for odd ones, 0 for other numbers."""
    numbers = _INTEGERS.astype(np.float32) * np.float32(scale)
    signs = np.where(np.rint(numbers) == numbers, 1 - 2 * (np.abs(numbers) % 2), 0)
    return rescale(b, gathered(b, b.add(exponent, 1 << 15), signs, DType.INT8), 1.0, 0, DType.INT32)
