# SPDX-License-Identifier: BSD-3-Clause
"""Activation functions."""

from __future__ import annotations

import math
from typing import Any

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.lowering.call import Call
from sdk.backends.arm.tosa.lowering.functions import expm1
from sdk.backends.arm.tosa.lowering.registry import lowers
from sdk.backends.arm.tosa.schema import DType
from sdk.backends.arm.tosa.types import FLOATS


def limit(b: Builder, value: Value, low: Any, high: Any) -> Value:
    """Clamps a value. int32 uses MAXIMUM and MINIMUM, because TOSA's CLAMP does not take it."""
    if value.dtype != DType.INT32:
        return b.clamp(value, low, high)
    value = value if low is None else b.maximum(value, math.ceil(low))
    return value if high is None else b.minimum(value, math.floor(high))


@lowers("aten.relu.default")
def relu(call: Call) -> Value:
    (value,) = call.operands(call["self"])
    return limit(call.b, value, 0, None)


@lowers("aten.clamp.default")
def clamp(call: Call) -> Value:
    (value,) = call.operands(call["self"])
    return limit(call.b, value, call["min"], call["max"])


@lowers("aten.hardtanh.default")
def hardtanh(call: Call) -> Value:
    (value,) = call.operands(call["self"])
    return limit(call.b, value, call["min_val"], call["max_val"])


@lowers("aten.leaky_relu.default")
def leaky_relu(call: Call) -> Value:
    (value,) = call.operands(call["self"])
    slope = call["negative_slope"]
    return call.b.select(call.b.greater(0, value), call.b.mul(value, slope), value)


@lowers("aten.elu.default")
def elu(call: Call) -> Value:
    (value,) = call.operands(call["self"], dtype=call.working)
    b = call.b
    negative = b.mul(expm1(b, b.mul(value, call["input_scale"])), call["alpha"] * call["scale"])
    return b.select(b.greater(value, 0), b.mul(value, call["scale"]), negative)


@lowers("aten.gelu.default")
def gelu(call: Call) -> Value:
    (value,) = call.operands(call["self"], dtype=call.working)
    if call.dtype not in FLOATS:
        raise UnsupportedError("its operand is not a float")
    b = call.b
    if call["approximate"] == "tanh":
        cube = b.mul(b.mul(value, value), value)
        inner = b.unary("TANH", b.mul(b.add(value, b.mul(cube, 0.044715)), math.sqrt(2 / math.pi)))
    else:
        inner = b.unary("ERF", b.mul(value, math.sqrt(0.5)))
    return b.mul(b.mul(value, 0.5), b.add(inner, 1))


def softmax_parts(b: Builder, value: Value, axis: int) -> tuple[Value, Value]:
    """Returns value - max(value) along the axis, and the sum of the exponentials of these differences."""
    less = b.sub(value, b.reduce("REDUCE_MAX", value, [axis]))
    return less, b.reduce("REDUCE_SUM", b.unary("EXP", less), [axis])


def _axis_of(call: Call) -> int:
    assert call.order is not None
    return call.order.index(call["dim"] % max(len(call.order), 1)) if call.order else 0


@lowers("aten._softmax.default")
def softmax(call: Call) -> Value:
    (value,) = call.operands(call["self"], dtype=call.working)
    if not value.rank:
        return call.b.add(call.b.mul(value, 0), 1)
    less, total = softmax_parts(call.b, value, _axis_of(call))
    return call.b.mul(call.b.unary("EXP", less), call.b.unary("RECIPROCAL", total))


@lowers("aten._log_softmax.default")
def log_softmax(call: Call) -> Value:
    (value,) = call.operands(call["self"], dtype=call.working)
    if not value.rank:
        return call.b.mul(value, 0)
    less, total = softmax_parts(call.b, value, _axis_of(call))
    return call.b.sub(less, call.b.unary("LOG", total))
