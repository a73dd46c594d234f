# SPDX-License-Identifier: BSD-3-Clause
"""Quotients, rounded quotients and remainders of int16, in int32."""

from __future__ import annotations

import math

from torch.fx import Node

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.integer.call import IntegerCall
from sdk.backends.arm.tosa.integer.fixed_point import headroom, limited, reciprocal, scaled
from sdk.backends.arm.tosa.integer.parameters import Parameters
from sdk.backends.arm.tosa.rescale import rescale
from sdk.backends.arm.tosa.schema import DType
from sdk.backends.graph.names import name_of

_MOST_SPARE, _LEAST_SPARE = 14, 4  # fractional bits of a divisor


def quotient(call: IntegerCall, nodes: list[Node], first: Parameters, second: Parameters) -> Value:
    """The first operand times the reciprocal of the mantissa of the second. Results differ from those of floats by at
    most one step. a / 0 is the largest number with the sign of a, and 0 / 0 is 0.

    With |b| = m / 2^room, p = a * 2^44 / m is a / |b| * 2^(44 - room). With the factor k / 2^e of the scales, 0.5 <= k
    < 1, the result is p * k / 2^(e + 44 - room).
    """
    b = call.b
    dividend, divisor = call.wide_operands(nodes)
    size = b.maximum(b.unary("ABS", divisor), 1)
    room = headroom(b, size)
    product = b.mul(b.shift_left(dividend, 14), reciprocal(b, b.shift_left(size, room), 2), 30)
    factor, exponent = math.frexp(first.scale / second.scale / call.out.scale)
    result = scaled(b, rescale(b, product, factor, 0, DType.INT32), b.sub(44 - exponent, room))
    result = b.select(b.equal(divisor, 0), b.shift_left(_sign(b, dividend), 20), result)
    return call.rescaled(b.mul(limited(b, result), _side(b, divisor)), 1.0)


def shrunk(b: Builder, value: Value, factor: float) -> Value:
    """An int32 times a factor of at most 1."""
    return value if factor == 1 else rescale(b, value, factor, 0, DType.INT32)


def _sign(b: Builder, value: Value) -> Value:
    return b.minimum(b.maximum(value, -1), 1)


def _side(b: Builder, value: Value) -> Value:
    """-1 for negative numbers, else 1."""
    return b.select(b.greater(0, value), -1, 1, DType.INT32)


def rounded_quotient(call: IntegerCall, nodes: list[Node], first: Parameters, second: Parameters) -> Value:
    """The quotient, rounded to zero or down, or the remainder. Both are exact for operands of one scale. a / 0 is the
    largest number with the sign of a, 0 / 0 is 0, and the remainder of a division by 0 is 0.

    In units of 2^-spare of the divisor's step, n is the rounded magnitude of the dividend, and d = m / 2^room the
    magnitude of the divisor. n * 2^30 / m is n / d * 2^(30 - room). Its error is less than nine and d is at least 16,
    so that the integer part is wrong by at most one, which the remainder shows.
    """
    b, name = call.b, name_of(call.node)
    if name == "aten.div.Tensor_mode" and call["rounding_mode"] is None:
        return quotient(call, nodes, first, second)
    ratio = first.scale / second.scale
    spare = _MOST_SPARE - max(math.ceil(math.log2(ratio)), 0)
    if spare < _LEAST_SPARE:
        raise UnsupportedError(f"the scale of its dividend is {ratio:.0f} times that of its divisor")
    dividend, divisor = call.wide_operands(nodes)
    size = b.unary("ABS", dividend)
    n = shrunk(b, b.shift_left(size, _MOST_SPARE), math.ldexp(ratio, spare - _MOST_SPARE))
    n = b.maximum(n, b.minimum(size, 1))  # a dividend other than 0 must not be rounded to 0
    d = b.shift_left(b.maximum(b.unary("ABS", divisor), 1), spare)
    room = headroom(b, d)
    whole = b.shift_right(b.mul(n, reciprocal(b, b.shift_left(d, room), 2), 30), b.sub(30, room))
    rest = b.sub(n, b.mul(whole, d))
    correction = b.select(b.greater_equal(rest, d), 1, b.select(b.greater(0, rest), -1, 0, DType.INT32))
    whole, rest = b.add(whole, correction), b.sub(rest, b.mul(correction, d))
    down = name in ("aten.floor_divide.default", "aten.remainder.Tensor")
    down |= name == "aten.div.Tensor_mode" and call["rounding_mode"] == "floor"
    signs = b.mul(_sign(b, dividend), _side(b, divisor))
    by_zero = b.equal(divisor, 0)
    if name in ("aten.remainder.Tensor", "aten.fmod.Tensor"):
        if down:
            same_signs = b.greater(b.mul(signs, b.minimum(rest, 1)), -1)
            left = b.mul(b.select(same_signs, rest, b.sub(d, rest)), _side(b, divisor))
        else:
            left = b.mul(rest, _sign(b, dividend))
        left = b.select(by_zero, 0, left)
        return call.rescaled(left, math.ldexp(second.scale, -spare) / call.out.scale)
    whole = b.mul(whole, signs)
    if down:
        whole = b.add(whole, b.minimum(b.mul(signs, b.minimum(rest, 1)), 0))
    most = min(math.ceil(call.out.scale * 2**16), 2**29)  # its result is beyond int16
    limit = b.minimum(b.maximum(whole, -most), most)
    return call.rescaled(b.select(by_zero, b.mul(signs, most), limit), 1 / call.out.scale)
