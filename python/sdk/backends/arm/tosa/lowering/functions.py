# SPDX-License-Identifier: BSD-3-Clause
"""Functions of one variable: TOSA's own, and functions that combine them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.lowering.call import Call
from sdk.backends.arm.tosa.lowering.registry import lowers
from sdk.backends.arm.tosa.schema import DType
from sdk.backends.arm.tosa.types import FLOATS

Function = Callable[[Builder, Value], Value]

_LARGE = 1e9  # from here on, x*x + 1 rounds to x*x
_TERMS = 9  # of the arc tangent's series, which are exact to the last digit of float32 up to tan(pi/8)


def _unary(function: Function, *, integers: bool = False) -> Callable[[Call], Value]:
    def lower(call: Call) -> Value:
        if not integers and call.dtype not in FLOATS:
            raise UnsupportedError(f"its result is {call.dtype.name.lower()}; floats are lowered")
        (value,) = call.operands(call["self"], dtype=call.working)
        return function(call.b, value)

    return lower


def _named(name: str) -> Function:
    return lambda b, x: b.unary(name, x)


for _packet in ("ceil", "cos", "erf", "exp", "floor", "log", "reciprocal", "rsqrt", "sigmoid", "sin", "tanh"):
    lowers(f"aten.{_packet}.default")(_unary(_named(_packet.upper())))
lowers("aten.abs.default")(_unary(_named("ABS"), integers=True))
lowers("aten.neg.default")(_unary(lambda b, x: b.negate(x), integers=True))
lowers("aten.sqrt.default")(_unary(lambda b, x: b.sqrt(x)))
lowers("aten.trunc.default")(_unary(lambda b, x: b.truncate(x)))
lowers("aten.log2.default")(_unary(lambda b, x: b.mul(b.unary("LOG", x), 1 / math.log(2))))
lowers("aten.log10.default")(_unary(lambda b, x: b.mul(b.unary("LOG", x), 1 / math.log(10))))
lowers("aten.tan.default")(_unary(lambda b, x: b.div(b.unary("SIN", x), b.unary("COS", x))))


def log1p(b: Builder, x: Value) -> Value:
    """log(u) * x / (u - 1) with u = 1 + x: the rounding error of u cancels (W. Kahan)."""
    u = b.add(x, 1)
    precise = b.mul(b.unary("LOG", u), b.div(x, b.sub(u, 1)))
    unchanged = b.equal(u, 1)
    large = b.greater(x, _LARGE)
    return b.select(unchanged, x, b.select(large, b.unary("LOG", u), precise))


def expm1(b: Builder, x: Value) -> Value:
    """(u - 1) * x / log(u) with u = exp(x): the rounding error of u cancels (W. Kahan)."""
    u = b.unary("EXP", x)
    less = b.sub(u, 1)
    precise = b.mul(less, b.div(x, b.unary("LOG", u)))
    precise = b.select(b.equal(u, 1), x, precise)
    small = b.binary("LOGICAL_AND", b.greater(x, -1), b.greater(1, x))
    return b.select(small, precise, less)


def _with_sign(b: Builder, magnitude: Value, sign_of: Value) -> Value:
    return b.select(b.greater(0, sign_of), b.negate(magnitude), magnitude)


def sinh(b: Builder, x: Value) -> Value:
    """(t + t / (t + 1)) / 2 with t = exp(|x|) - 1; for large x from exp(|x| / 2), which overflows later."""
    size = b.unary("ABS", x)
    t = expm1(b, size)
    precise = b.mul(b.add(t, b.div(t, b.add(t, 1))), 0.5)
    root = b.unary("EXP", b.mul(size, 0.5))
    return _with_sign(b, b.select(b.greater(size, 10), b.mul(b.mul(root, 0.5), root), precise), x)


def cosh(b: Builder, x: Value) -> Value:
    """(r * r + 1 / (r * r)) / 2 with r = exp(|x| / 2), which overflows later than exp(|x|)."""
    root = b.unary("EXP", b.mul(b.unary("ABS", x), 0.5))
    inverse = b.unary("RECIPROCAL", root)
    return b.add(b.mul(b.mul(root, 0.5), root), b.mul(b.mul(inverse, 0.5), inverse))


def asinh(b: Builder, x: Value) -> Value:
    """log1p(|x| + x*x / (1 + sqrt(x*x + 1))), or log(2 |x|) where x*x + 1 rounds to x*x."""
    size = b.unary("ABS", x)
    bounded = b.minimum(size, _LARGE)
    square = b.mul(bounded, bounded)
    precise = log1p(b, b.add(bounded, b.div(square, b.add(b.sqrt(b.add(square, 1)), 1))))
    large = b.add(b.unary("LOG", size), math.log(2))
    return _with_sign(b, b.select(b.greater(size, _LARGE), large, precise), x)


def acosh(b: Builder, x: Value) -> Value:
    """log1p(t + sqrt(2 t + t*t)) with t = x - 1, or log(2 x) where 2 t + t*t rounds to t*t."""
    t = b.sub(b.minimum(x, _LARGE), 1)
    precise = log1p(b, b.add(t, b.sqrt(b.mul(t, b.add(t, 2)))))
    return b.select(b.greater(x, _LARGE), b.add(b.unary("LOG", x), math.log(2)), precise)


def atanh(b: Builder, x: Value) -> Value:
    """log1p(2 |x| / (1 - |x|)) / 2."""
    size = b.unary("ABS", x)
    return _with_sign(b, b.mul(log1p(b, b.div(b.mul(size, 2), b.sub(1, size))), 0.5), x)


def atan(b: Builder, x: Value) -> Value:
    """Its Taylor series, on at most tan(pi/8): atan(x) = pi/2 - atan(1/x) and pi/4 + atan((x - 1) / (x + 1))."""
    size = b.unary("ABS", x)
    steep = b.greater(size, math.tan(3 * math.pi / 8))
    middle = b.greater(size, math.tan(math.pi / 8))
    shifted = b.div(b.sub(size, 1), b.add(size, 1))
    inverse = b.negate(b.unary("RECIPROCAL", size))
    reduced = b.select(steep, inverse, b.select(middle, shifted, size))
    offset = b.select(steep, math.pi / 2, b.select(middle, math.pi / 4, 0, x.dtype))
    square = b.mul(reduced, reduced)
    series: Value = b.number((-1) ** _TERMS / (2 * _TERMS + 1), x.dtype)
    for term in reversed(range(1, _TERMS)):
        series = b.add(b.mul(series, square), (-1) ** term / (2 * term + 1))
    value = b.add(offset, b.add(reduced, b.mul(b.mul(series, square), reduced)))
    return _with_sign(b, value, x)


def asin(b: Builder, x: Value) -> Value:
    """atan(x / sqrt((1 - x) (1 + x)))."""
    return atan(b, b.mul(x, b.unary("RSQRT", b.mul(b.sub(1, x), b.add(x, 1)))))


def acos(b: Builder, x: Value) -> Value:
    """2 atan(sqrt((1 - x) / (1 + x)))."""
    return b.mul(atan(b, b.sqrt(b.div(b.sub(1, x), b.add(x, 1)))), 2)


for _function in (log1p, expm1, sinh, cosh, asinh, acosh, atanh, atan, asin, acos):
    lowers(f"aten.{_function.__name__}.default")(_unary(_function))


def _round(b: Builder, x: Value) -> Value:
    """CAST rounds to the nearest, ties to even. Floats from 2^23 on are integers already."""
    nearest = b.round(x)
    return b.select(b.greater(2.0**23, b.unary("ABS", x)), nearest, x)  # x is NaN, infinite or an integer


lowers("aten.round.default")(_unary(_round))


@lowers("aten.sign.default")
def sign(call: Call) -> Value:
    (value,) = call.operands(call["self"])
    b = call.b
    negative = b.select(b.greater(0, value), -1, 0, value.dtype)
    return b.select(b.greater(value, 0), 1, negative)


@lowers("aten.isnan.default")
def isnan(call: Call) -> Value:
    (value,) = call.operands(call["self"], dtype=DType.FP32)
    return call.b.logical_not(call.b.equal(value, value))


@lowers("aten.isinf.default")
def isinf(call: Call) -> Value:
    (value,) = call.operands(call["self"], dtype=DType.FP32)
    return call.b.equal(call.b.unary("ABS", value), math.inf)


@lowers("aten.logical_not.default")
def logical_not(call: Call) -> Value:
    (value,) = call.operands(call["self"], dtype=DType.BOOL)
    return call.b.logical_not(value)


@lowers("aten.bitwise_not.default")
def bitwise_not(call: Call) -> Value:
    (value,) = call.operands(call["self"])
    return call.b.unary("LOGICAL_NOT" if value.dtype == DType.BOOL else "BITWISE_NOT", value)


# The polynomials of M. Giles, "Approximating the erfinv function" (2010), in w = -log(1 - x * x): for w below 5 in
# w - 2.5, and beyond in sqrt(w) - 3. The first coefficient is that of the highest power.
_INNER = (
    *(2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087),
    *(-0.00125372503, -0.00417768164, 0.246640727, 1.50140941),
)
_OUTER = (
    *(-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773),
    *(-0.0076224613, 0.00943887047, 1.00167406, 2.83297682),
)


def erfinv(b: Builder, x: Value) -> Value:
    w = b.negate(b.unary("LOG", b.mul(b.sub(1, x), b.add(x, 1))))
    inner = _polynomial(b, b.sub(w, 2.5), _INNER)
    outer = _polynomial(b, b.sub(b.sqrt(w), 3), _OUTER)
    finite = b.mul(b.select(b.greater(5, w), inner, outer), x)
    return b.select(b.equal(b.unary("ABS", x), 1), b.mul(x, math.inf), finite)


def _polynomial(b: Builder, x: Value, coefficients: Sequence[float]) -> Value:
    total = b.add(b.mul(x, coefficients[0]), coefficients[1])
    for coefficient in coefficients[2:]:
        total = b.add(b.mul(total, x), coefficient)
    return total


lowers("aten.erfinv.default")(_unary(erfinv))
