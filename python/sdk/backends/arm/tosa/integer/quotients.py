# SPDX-License-Identifier: BSD-3-Clause
"""Quotients of int16, in int32: at most a step from what floats give."""

from __future__ import annotations

import math

from torch.fx import Node

from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.integer.call import IntegerCall
from sdk.backends.arm.tosa.integer.fixed_point import headroom, reciprocal
from sdk.backends.arm.tosa.integer.parameters import Parameters
from sdk.backends.arm.tosa.integer.rescale import rescale
from sdk.backends.arm.tosa.schema import DType

_LARGE = 1 << 16  # beyond int16


def quotient(call: IntegerCall, nodes: list[Node], first: Parameters, second: Parameters) -> Value:
    """The first operand times the reciprocal of the mantissa of the second. A quotient by 0 is the largest number of
    its sign, and 0 of 0.

    With |b| = m / 2^room, p = a * 2^44 / m is a / |b| * 2^(44 - room). With the factor k / 2^e of the scales, 0.5 <= k
    < 1, the result is p * k / 2^(e + 44 - room).
    """
    b = call.b
    dividend, divisor = (
        rescale(b, value, 1.0, each.zero_point, DType.INT32)
        for value, each in zip(call.operands(*nodes), (first, second), strict=True)
    )
    size = b.maximum(b.unary("ABS", divisor), 1)
    room = headroom(b, size)
    product = b.mul(b.shift_left(dividend, 14), reciprocal(b, b.shift_left(size, room), 2), 30)
    factor, exponent = math.frexp(first.scale / second.scale / call.out.scale)
    product = rescale(b, product, factor, 0, DType.INT32)
    less = b.sub(44 - exponent, room)
    half = b.shift_left(1, b.minimum(b.maximum(b.sub(less, 1), 0), 30))
    small = b.shift_right(b.add(product, b.select(b.greater(less, 0), half, 0)), b.minimum(b.maximum(less, 0), 31))
    # Where `less` is negative, four more bits take a product beyond int16: it has twelve at least.
    limited = b.minimum(b.maximum(product, -_LARGE), _LARGE)
    large = b.shift_left(limited, b.minimum(b.maximum(b.sub(0, less), 0), 14))
    result = b.select(b.greater_equal(less, 0), small, large)
    result = b.select(b.equal(divisor, 0), b.shift_left(b.minimum(b.maximum(dividend, -1), 1), 20), result)
    sign = b.select(b.greater(0, divisor), -1, 1, DType.INT32)
    limit = b.minimum(b.maximum(result, -_LARGE), _LARGE)
    return call.rescaled(b.mul(limit, sign), 1.0)
