# SPDX-License-Identifier: BSD-3-Clause
"""Quantised elementwise operators: addition and multiplication with RESCALE, functions of one variable by a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.fx import Node

from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.integer.call import IntegerCall
from sdk.backends.arm.tosa.integer.fixed_point import gathered, lookup
from sdk.backends.arm.tosa.integer.functions_of_two import angle, power
from sdk.backends.arm.tosa.integer.parameters import Parameters
from sdk.backends.arm.tosa.integer.quotients import quotient, rounded_quotient
from sdk.backends.arm.tosa.integer.registry import lowers_integers
from sdk.backends.arm.tosa.lowering.call import Placed
from sdk.backends.arm.tosa.rescale import rescale
from sdk.backends.arm.tosa.schema import DType, Op
from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import is_any_dequantize

# Operands are added in int32, with this number of fractional bits relative to the larger scale: 8 + 20 and 16 + 12
# bits fit, with one more for the sum.
_MOST_STEPS = 8
_EXTRA_BITS = {DType.INT8: 20, DType.INT16: 12}


def _aligned(call: IntegerCall) -> tuple[list[Value], float]:
    """Returns both operands as int32 with one scale, and the factor from this scale to the scale of the result."""
    nodes = [call["self"], call["other"]]
    if not all(isinstance(node, Node) for node in nodes):
        raise UnsupportedError("its operand is a number that is not quantised")
    parameters = [call.activation(node) for node in nodes]
    common = 2 * max(each.scale for each in parameters)
    unit = float(1 << _EXTRA_BITS[call.out.dtype])
    values = [
        rescale(call.b, value, unit * each.scale / common, each.zero_point, DType.INT32)
        for value, each in zip(call.operands(*nodes, dtype=call.out.dtype), parameters, strict=True)
    ]
    return values, common / (unit * call.out.scale)


def _binary(name: str) -> Callable[[IntegerCall], Value]:
    def lower(call: IntegerCall) -> Value:
        if call.get("alpha") not in (None, 1):
            raise UnsupportedError("its alpha is not 1")
        (first, second), factor = _aligned(call)
        return call.rescaled(call.b.binary(name, first, second), factor)

    return lower


lowers_integers("aten.add.Tensor")(_binary("ADD"))
lowers_integers("aten.sub.Tensor")(_binary("SUB"))
lowers_integers("aten.maximum.default")(_binary("MAXIMUM"))
lowers_integers("aten.minimum.default")(_binary("MINIMUM"))


def _comparison(compare: Callable[[Any, Any, Any], Value]) -> Callable[[IntegerCall], Value]:
    """Lowers a comparison to int32 operands with one scale. The comparison with a Python number is exact: the number
    equals one of the values of the operand or is between two of them."""

    def lower(call: IntegerCall) -> Value:
        first, second = call["self"], call["other"]
        if not isinstance(second, Node):
            given = call.activation(first)
            (value,) = call.operands(first, dtype=given.dtype)
            numbers, number = _all_of(given).numpy(), np.float32(second)
            place = int((numbers < number).sum()) - numbers.size // 2  # the index of the first value that is not less
            twice = 2 * place - (0 if (numbers == number).any() else 1)
            return compare(call.b, rescale(call.b, value, 2.0, 0, DType.INT32), twice)
        (a, b), _ = _aligned(call)
        return compare(call.b, a, b)

    return lower


COMPARISONS: dict[str, Callable[[Any, Any, Any], Value]] = {
    "eq": lambda b, x, y: b.equal(x, y),
    "ne": lambda b, x, y: b.logical_not(b.equal(x, y)),
    "gt": lambda b, x, y: b.greater(x, y),
    "ge": lambda b, x, y: b.greater_equal(x, y),
    "lt": lambda b, x, y: b.greater(y, x),
    "le": lambda b, x, y: b.greater_equal(y, x),
}
"""Comparisons by PyTorch's names. Their results are bool, which is not quantised."""
for _name, _compare in COMPARISONS.items():
    lowers_integers(f"aten.{_name}.Tensor", f"aten.{_name}.Scalar", result=DType.BOOL)(_comparison(_compare))


@lowers_integers("aten.mul.Tensor")
def mul(call: IntegerCall) -> Value:
    """A product with a positive number is a RESCALE."""
    nodes = [call["self"], call["other"]]
    parameters = [call.activation(node) for node in nodes]
    values = call.operands(*nodes)
    factor = parameters[0].scale * parameters[1].scale / call.out.scale
    for number, at in ((1, 0), (0, 1)):
        known = values[number].constant
        if known is not None and known.size == 1 and known.item() > parameters[number].zero_point:
            steps = known.item() - parameters[number].zero_point
            return call.rescaled(values[at], factor * steps, parameters[at].zero_point)
    first, second = (
        rescale(call.b, value, 1.0, each.zero_point, DType.INT32)
        for value, each in zip(values, parameters, strict=True)
    )
    return call.rescaled(call.b.mul(first, second), factor)


def table(call: IntegerCall, operand: Node | None = None) -> Placed:
    """Tabulates the results for all values of the operand, computed by PyTorch. Limits of int16 become CLAMP. For other
    functions, TABLE interpolates between 513 results if the error stays within eight steps; otherwise GATHER reads one
    of 65,536 results."""
    operand = call["self"] if operand is None else operand
    given, source = call.activation(operand), call.placed(operand)
    results = _results(call, _all_of(given))
    if given.dtype == DType.INT8:
        return Placed(lookup(call.b, source.value, results), source.order)
    low, high = int(results.min()), int(results.max())
    if (results == np.clip(np.arange(-(1 << 15), 1 << 15), low, high)).all():
        return Placed(call.b.clamp(source.value, low, high), source.order)
    points = np.append(results[::128], results[-1])
    fractions = np.arange(128)
    between = np.rint((points[:-1, None] * 128 + np.diff(points)[:, None] * fractions) / 128).reshape(-1)
    smooth = np.abs(np.diff(points)).max() < 1 << 15 and np.abs(between - results).max() <= _MOST_STEPS
    if smooth:
        return Placed(_interpolated(call, source.value, points), source.order)
    positions = call.b.add(rescale(call.b, source.value, 1.0, 0, DType.INT32), 1 << 15)
    return Placed(gathered(call.b, positions, results, DType.INT16), source.order)


def _interpolated(call: IntegerCall, value: Value, points: np.ndarray) -> Value:
    """TABLE of int16, which interpolates between 513 points and returns 128 times the value."""
    entries = call.b.constant(points.astype(np.int16), DType.INT16)
    return rescale(
        call.b, call.b.emit(Op["TABLE"], [value, entries], value.shape, DType.INT32), 1 / 128, 0, DType.INT16
    )


def _all_of(given: Parameters) -> torch.Tensor:
    """Returns the real numbers of all integers of a type."""
    half = 1 << (7 if given.dtype == DType.INT8 else 15)
    integers = torch.arange(-half, half, dtype=torch.float32)
    return (integers - given.zero_point) * torch.tensor(given.scale, dtype=torch.float32)


def _results(call: IntegerCall, *operands: torch.Tensor) -> np.ndarray:
    """Returns the results of PyTorch for operands as integers; arguments that are numbers do not change. NaN becomes
    0."""
    given = iter(operands)
    arguments = [next(given) if is_any_dequantize(argument) else _number(call, argument) for argument in call.node.args]
    function = getattr(call.node.target, "_op", call.node.target)
    with torch.no_grad():
        results = function(*arguments, **call.node.kwargs)
    return np.nan_to_num(call.out.quantized(results.numpy())).astype(np.int64)


def _number(call: IntegerCall, argument: Any) -> Any:
    """Returns an argument that is a number, or the element of a constant with one element."""
    if not isinstance(argument, Node):
        return argument
    known = call.placed(argument).value.constant
    if known is None or known.size != 1:
        raise UnsupportedError("its operand is not quantised, and no single number")
    return torch.tensor(known.item(), dtype=torch.float32)


@lowers_integers(
    *("aten.div.Tensor", "aten.div.Tensor_mode", "aten.pow.Tensor_Tensor", "aten.remainder.Tensor", "aten.fmod.Tensor"),
    *("aten.atan2.default", "aten.floor_divide.default"),
)
def table_of_two(call: IntegerCall) -> Value | Placed:
    """Tabulates the results for all 65,536 pairs of int8, computed by PyTorch; GATHER reads the result at 256 a + b.
    For int16, the operator is computed in int32."""
    nodes = list(call.node.args[:2])
    quantized = [node for node in nodes if is_any_dequantize(node)]
    if len(quantized) == 1:
        return table(call, quantized[0])
    first, second = (call.activation(node) for node in nodes)
    if first.dtype != DType.INT8:
        return _OF_INT16.get(name_of(call.node), rounded_quotient)(call, nodes, first, second)
    pairs = torch.meshgrid(_all_of(first), _all_of(second), indexing="ij")
    a, b = call.operands(*nodes)
    rows = rescale(call.b, a, 256.0, -128, DType.INT32)
    positions = call.b.add(rows, rescale(call.b, b, 1.0, -128, DType.INT32))
    return gathered(call.b, positions, _results(call, *pairs), DType.INT8)


_OF_INT16 = {"aten.div.Tensor": quotient, "aten.pow.Tensor_Tensor": power, "aten.atan2.default": angle}


FUNCTIONS = tuple(
    f"aten.{name}"
    for name in (
        *(
            "abs",
            "acos",
            "acosh",
            "asin",
            "asinh",
            "atan",
            "atanh",
            "ceil",
            "cos",
            "cosh",
            "elu",
            "erf",
            "exp",
            "expm1",
        ),
        *(
            "floor",
            "gelu",
            "hardsigmoid",
            "hardswish",
            "hardtanh",
            "leaky_relu",
            "log",
            "log10",
            "log1p",
            "log2",
            "neg",
        ),
        *("reciprocal", "relu", "round", "rsqrt", "sigmoid", "sign", "silu", "sin", "sinh", "sqrt", "tan", "tanh"),
        *("celu", "clamp", "erfinv", "mish", "selu", "softplus", "trunc"),
    )
)
SCALARS = ("aten.pow.Tensor_Scalar", "aten.remainder.Scalar", "aten.fmod.Scalar")
"""Functions of a tensor and a number."""
lowers_integers(*(f"{name}.default" for name in FUNCTIONS), *SCALARS)(table)
