# SPDX-License-Identifier: BSD-3-Clause
"""Arithmetic, comparisons and logic on single elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.lowering.call import Call
from sdk.backends.arm.tosa.lowering.registry import lowers
from sdk.backends.arm.tosa.schema import DType
from sdk.backends.arm.tosa.types import FLOATS, numpy_type, to_computed
from sdk.backends.graph.shapes import is_tensor

_MOST_FACTORS = 8  # of a power that is computed by multiplications


def _sum(call: Call, add: Callable[[Builder], Callable[[Any, Any], Value]]) -> Value:
    first, second = call.operands(call["self"], call["other"], dtype=call.working if call["alpha"] != 1 else None)
    alpha = call["alpha"]
    if alpha != 1:
        second = call.b.mul(second, alpha) if isinstance(second, Value) else second * alpha
    return add(call.b)(first, second)


@lowers("aten.add.Tensor", "aten.add.Scalar")
def add(call: Call) -> Value:
    return _sum(call, lambda b: b.add)


@lowers("aten.sub.Tensor", "aten.sub.Scalar")
def sub(call: Call) -> Value:
    return _sum(call, lambda b: b.sub)


@lowers("aten.mul.Tensor", "aten.mul.Scalar")
def mul(call: Call) -> Value:
    first, second = call.operands(call["self"], call["other"])
    if call.dtype == DType.BOOL:
        return call.b.binary("LOGICAL_AND", first, second)
    if call.dtype in (DType.INT8, DType.INT16):
        raise UnsupportedError("a product of int8 or int16 is int32 in TOSA")
    return call.b.mul(first, second)


@lowers("aten.div.Tensor", "aten.div.Scalar")
def div(call: Call) -> Value:
    return call.b.div(*call.operands(call["self"], call["other"], dtype=call.working))


@lowers("aten.div.Tensor_mode", "aten.div.Scalar_mode", "aten.floor_divide.default")
def div_mode(call: Call) -> Value:
    first, second = call.operands(call["self"], call["other"], dtype=call.working)
    mode = call["rounding_mode"] if _packet(call) == "div" else "floor"
    if mode is None:
        return call.b.div(first, second)
    if call.dtype not in FLOATS:
        raise UnsupportedError("it divides integers, and TOSA's INTDIV is not defined for a divisor of 0")
    quotient = _floor_quotient(call.b, first, second) if mode == "floor" else _truncated(call.b, first, second)
    return quotient


@lowers("aten.remainder.Tensor", "aten.remainder.Scalar")
def remainder(call: Call) -> Value:
    first, second = call.operands(call["self"], call["other"], dtype=call.working)
    if call.dtype not in FLOATS:
        raise UnsupportedError("it divides integers, and TOSA's INTDIV is not defined for a divisor of 0")
    return call.b.sub(first, call.b.mul(_floor_quotient(call.b, first, second), second))


@lowers("aten.fmod.Tensor", "aten.fmod.Scalar")
def fmod(call: Call) -> Value:
    first, second = call.operands(call["self"], call["other"], dtype=call.working)
    if call.dtype not in FLOATS:
        raise UnsupportedError("it divides integers, and TOSA's INTDIV is not defined for a divisor of 0")
    return call.b.sub(first, call.b.mul(_truncated(call.b, first, second), second))


def _floor_quotient(b: Builder, first: Any, second: Any) -> Value:
    """floor(first / second). The quotient is a multiplication by the reciprocal, whose rounding may give the next
    integer. The remainder, which must have the sign of the divisor and be smaller, corrects it."""
    guess = b.unary("FLOOR", b.div(first, second))
    rest = b.sub(first, b.mul(guess, second))
    # Where the divisor is negative, both are negated.
    size = b.unary("ABS", second) if isinstance(second, Value) else abs(second)
    if isinstance(second, Value):
        rest = b.select(b.greater(0, second), b.negate(rest), rest)
    elif second < 0:
        rest = b.negate(rest)
    guess = b.select(b.greater(0, rest), b.sub(guess, 1), guess)
    return b.select(b.greater_equal(rest, size), b.add(guess, 1), guess)


def _truncated(b: Builder, first: Any, second: Any) -> Value:
    """first / second rounded towards zero: the floor of the quotient of the magnitudes, with the sign."""
    sizes = [b.unary("ABS", each) if isinstance(each, Value) else abs(each) for each in (first, second)]
    quotient = _floor_quotient(b, *sizes)
    if isinstance(second, Value):
        opposite = b.binary("LOGICAL_XOR", b.greater(0, first), b.greater(0, second))
    else:
        opposite = b.greater(first, 0) if second < 0 else b.greater(0, first)
    return b.select(opposite, b.negate(quotient), quotient)


@lowers("aten.pow.Tensor_Scalar")
def pow_by_number(call: Call) -> Value:
    (value,) = call.operands(call["self"], dtype=call.working)
    exponent = call["exponent"]
    if call.dtype not in FLOATS and not (isinstance(exponent, int) and exponent >= 0):
        raise UnsupportedError("it raises integers to a power that is negative or not an integer")
    roots = {0.5: call.b.sqrt, -0.5: lambda x: call.b.unary("RSQRT", x)}
    if exponent in roots:
        return roots[exponent](value)
    if float(exponent).is_integer() and abs(exponent) <= _MOST_FACTORS:
        power = _product(call.b, value, int(abs(exponent)))
        return call.b.unary("RECIPROCAL", power) if exponent < 0 else power
    if not float(exponent).is_integer():
        return call.b.binary("POW", value, exponent)
    # TOSA does not define negative bases. The result is negative if the base is negative and the exponent odd.
    power = call.b.binary("POW", call.b.unary("ABS", value), exponent)
    return call.b.select(call.b.greater(0, value), call.b.negate(power), power) if exponent % 2 else power


def _product(b: Builder, value: Value, count: int) -> Value:
    if count == 0:
        return b.add(b.mul(value, 0), 1)
    half = value if count == 1 else _product(b, value, count // 2)
    if count == 1:
        return half
    square = b.mul(half, half)
    return b.mul(square, value) if count % 2 else square


@lowers("aten.pow.Tensor_Tensor", "aten.pow.Scalar")
def pow_by_tensor(call: Call) -> Value:
    if not is_tensor(call["self"]) and call["self"] < 0:
        raise UnsupportedError("its base is negative, for which TOSA's POW is not defined")
    return call.b.binary("POW", *call.operands(call["self"], call["exponent"], dtype=call.working))


def _largest(name: str) -> Callable[[Call], Value]:
    def lower(call: Call) -> Value:
        return call.b.binary(name, *call.operands(call["self"], call["other"]))

    return lower


lowers("aten.maximum.default")(_largest("MAXIMUM"))
lowers("aten.minimum.default")(_largest("MINIMUM"))


@lowers("aten.clamp.Tensor")
def clamp_by_tensors(call: Call) -> Value:
    value, low, high = call.operands(call["self"], call["min"], call["max"])
    value = value if low is None else call.b.maximum(value, low)
    return value if high is None else call.b.minimum(value, high)


def _comparison(compare: Callable[[Builder, Any, Any], Value]) -> Callable[[Call], Value]:
    def lower(call: Call) -> Value:
        dtype = to_computed(torch.result_type(*(_sample(call[name]) for name in ("self", "other"))))
        first, second = call.operands(call["self"], call["other"], dtype=_comparable(dtype))
        if isinstance(second, bool):
            second = int(second)
        return compare(call.b, first, second)

    return lower


def _comparable(dtype: DType) -> DType:
    return dtype if dtype in FLOATS else DType.INT32


def _sample(argument: Any) -> Any:
    return argument.meta["val"] if isinstance(argument, Node) else argument


for _names, _compare in (
    (("aten.eq.Tensor", "aten.eq.Scalar"), lambda b, x, y: b.equal(x, y)),
    (("aten.ne.Tensor", "aten.ne.Scalar"), lambda b, x, y: b.logical_not(b.equal(x, y))),
    (("aten.gt.Tensor", "aten.gt.Scalar"), lambda b, x, y: b.greater(x, y)),
    (("aten.ge.Tensor", "aten.ge.Scalar"), lambda b, x, y: b.greater_equal(x, y)),
    (("aten.lt.Tensor", "aten.lt.Scalar"), lambda b, x, y: b.greater(y, x)),
    (("aten.le.Tensor", "aten.le.Scalar"), lambda b, x, y: b.greater_equal(y, x)),
):
    lowers(*_names)(_comparison(_compare))


@lowers("aten.where.self", indices=True)
def where(call: Call) -> Value:
    return call.b.select(*_operands_of_select(call, call["condition"], call["self"], call["other"]))


def _operands_of_select(call: Call, condition: Node, first: Any, second: Any) -> list[Any]:
    """The condition stays a bool; the others get the type of the result."""
    return call.operands(condition, first, second, dtypes=(DType.BOOL, call.dtype, call.dtype))


_LOGIC = {"and": "LOGICAL_AND", "or": "LOGICAL_OR", "xor": "LOGICAL_XOR"}


def _logical(name: str) -> Callable[[Call], Value]:
    def lower(call: Call) -> Value:
        return call.b.binary(name, *call.operands(call["self"], call["other"], dtype=DType.BOOL))

    return lower


def _bitwise(name: str) -> Callable[[Call], Value]:
    def lower(call: Call) -> Value:
        operator = f"LOGICAL_{name}" if call.dtype == DType.BOOL else f"BITWISE_{name}"
        return call.b.binary(operator, *call.operands(call["self"], call["other"]))

    return lower


for _name, _operator in _LOGIC.items():
    lowers(f"aten.logical_{_name}.default")(_logical(_operator))
    lowers(f"aten.bitwise_{_name}.Tensor", f"aten.bitwise_{_name}.Scalar")(_bitwise(_name.upper()))


def _shift(name: str) -> Callable[[Call], Value]:
    def lower(call: Call) -> Value:
        value, count = call.operands(call["self"], call["other"])
        limit = 8 * numpy_type(value.dtype).itemsize
        if count.constant is not None and count.constant.min() >= 0 and count.constant.max() < limit:
            return call.b.binary(name, value, count)
        return _shifted_by_any(call, name)

    return lower


def _shifted_by_any(call: Call, name: str) -> Value:
    """A shift by negative numbers, or by more than TOSA's 31 bits, shifts all bits out, as in PyTorch."""
    b, dtype = call.b, call.dtype
    value, count = call.operands(call["self"], call["other"], dtype=DType.INT32)
    count = b.sub(b.maximum(count, 0), b.shift_left(b.shift_right(count, 31), 5))  # 32 for a negative number
    most = b.minimum(count, 31)
    if name == "ARITHMETIC_RIGHT_SHIFT":
        return b.cast(b.shift_right(value, most), dtype)
    value = b.shift_left(b.shift_left(value, most), b.sub(b.minimum(count, 32), most))
    beyond = 32 - 8 * numpy_type(dtype).itemsize
    if beyond:  # the low bits with their sign, which the smaller type holds
        value = b.shift_right(b.shift_left(value, beyond), beyond)
    return b.cast(value, dtype)


lowers("aten.bitwise_left_shift.Tensor")(_shift("LOGICAL_LEFT_SHIFT"))
lowers("aten.bitwise_right_shift.Tensor")(_shift("ARITHMETIC_RIGHT_SHIFT"))


def _packet(call: Call) -> str:
    return str(call.node.target).rpartition("aten.")[2].partition(".")[0]
