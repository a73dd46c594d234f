# SPDX-License-Identifier: BSD-3-Clause
"""The elements that take part in a softmax of integers.

A choice between scores and a number, or a sum of scores and a constant mask, masks elements: their exponentials are 0.
A row whose elements are all masked has the probabilities that float32 gives its mask values: equal ones for equal
values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from torch.fx import Node

from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.integer.call import IntegerCall
from sdk.backends.arm.tosa.integer.parameters import Parameters
from sdk.backends.arm.tosa.schema import DType
from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import is_any_dequantize

MASKED = -1e4
"""This number, or any smaller one, masks an element of a softmax if it replaces the element or is added to it."""

CHOICE, SUM = "aten.where.self", "aten.add.Tensor"

_FAR = 24.0  # exp(-24) is less than half of the least exponential
_MOST_ROUNDED = 2.0**-8  # rounding error of a score that changes a probability by at most half a step of int8


@dataclass(frozen=True)
class Counted:
    """The scores of a softmax, some of which are masked.

    Attributes:
        value: Their integers; masked elements have the smallest one.
        order: The layout.
        axis: The axis of the softmax.
        given: The quantisation parameters of the integers.
        kept: Replaces the exponentials of masked elements, given all exponentials and the integer of exp(0).
        empty: Whether all exponentials of a row can be 0.
    """

    value: Value
    order: tuple[int, ...]
    axis: int
    given: Parameters
    kept: Callable[[Value, int], Value]
    empty: bool = False


def counted(call: IntegerCall) -> Counted:
    """Returns the scores that the operand `self` of a call reads. Raises UnsupportedError if they are not quantised, or
    if their mask cannot be lowered."""
    source = call["self"]
    if is_any_dequantize(source):
        placed = call.placed(source)
        if not placed.order:
            raise UnsupportedError("its operand has no dimensions")
        return Counted(
            placed.value, placed.order, placed.axis(call["dim"]), call.activation(source), lambda values, one: values
        )
    read = {CHOICE: _of_choice, SUM: _of_sum}.get(name_of(source))
    if read is None:
        raise UnsupportedError("its operand is not quantised")
    return read(call, source)


def _axis(call: IntegerCall) -> int:
    assert call.order is not None
    if not call.order:
        raise UnsupportedError("its operand has no dimensions")
    return call.order.index(call["dim"] % len(call.order))


def _least(given: Parameters) -> int:
    return -128 if given.dtype == DType.INT8 else -32768


def _range(given: Parameters) -> tuple[float, float]:
    """The least and the largest score."""
    low, high = (given.scale * (end - given.zero_point) for end in (given.low, given.high))
    return low, high


def _with_constants(
    call: IntegerCall, mask: Value, value: Value, axis: int, given: Parameters, alone: np.ndarray
) -> Counted:
    """Returns scores that keep the elements where `mask` is true. `alone` has the exponentials for rows in which `mask`
    is false everywhere."""
    b = call.b
    left = np.False_ if mask.constant is None else mask.constant.any(axis, keepdims=True)
    alone = np.where(left, 0, alone)
    empty = bool((~left & (alone.max(axis, keepdims=True) == 0)).any())

    def kept(values: Value, one: int) -> Value:
        others = np.rint(alone * one).astype(np.int32)
        if not others.any():
            return b.select(mask, values, 0)
        filled = b.constant(others, DType.INT32)
        if mask.constant is None:
            filled = b.select(b.reduce("REDUCE_ANY", mask, [axis]), 0, filled)
        return b.select(mask, values, filled)

    assert call.order is not None
    return Counted(b.select(mask, value, _least(given)), call.order, axis, given, kept, empty)


def _of_choice(call: IntegerCall, choice: Node) -> Counted:
    """Lowers a choice between scores and a mask value, in either order."""
    condition, first, second = choice.args
    operand, other = (first, second) if is_any_dequantize(first) else (second, first)
    numbers = None if is_any_dequantize(other) else call.placed(other).value.constant
    if not is_any_dequantize(operand) or numbers is None or not bool((numbers <= MASKED).all()):
        raise UnsupportedError("its operand is not quantised")
    given = call.activation(operand)
    if not float(numbers.max()) + _FAR < _range(given)[0]:
        raise UnsupportedError(f"its scores are as low as {numbers.max()}, which should mask elements")
    types = (DType.BOOL, call.dtype, call.placed(other).value.dtype)
    mask, value, number = call.operands(condition, operand, other, dtypes=types)
    axis = _axis(call)
    if operand is second:
        known = mask.constant
        mask = call.b.logical_not(mask) if known is None else call.b.constant(~known, DType.BOOL)
    return _with_constants(call, mask, value, axis, given, _shares(number.constant, axis))


def _shares(numbers: np.ndarray, axis: int) -> np.ndarray:
    """exp(x - max), 0 in a row with only minus infinity."""
    exact = numbers.astype(np.float64)
    largest = exact.max(axis, keepdims=True)
    return np.exp(exact - np.where(np.isfinite(largest), largest, 0))


def _of_sum(call: IntegerCall, total: Node) -> Counted:
    """Lowers a sum of scores and a mask. In each row, the scores with the largest mask value are kept and the others
    masked. With floats, adding large numbers to a whole row rounds its scores; if all digits are lost, the
    probabilities are equal."""
    first, second = total.args[:2]
    operand, other = (first, second) if is_any_dequantize(first) else (second, first)
    numbers = None if is_any_dequantize(other) else call.placed(other).value.constant
    if not is_any_dequantize(operand) or numbers is None or total.kwargs.get("alpha", 1) != 1:
        raise UnsupportedError("its operand is not quantised")
    given = call.activation(operand)
    value, number = call.operands(operand, other, dtypes=(call.dtype, call.placed(other).value.dtype))
    axis = _axis(call)
    exact = number.constant.astype(np.float64)
    if exact.shape[axis] != value.shape[axis]:
        exact = np.repeat(exact, value.shape[axis], axis)
    largest = exact.max(axis, keepdims=True)
    low, high = _range(given)
    with np.errstate(invalid="ignore"):
        equal = (exact == largest) & np.isfinite(largest)
        near = ~equal & (exact + high + _FAR > largest + low)
    if bool(near.any()) or not bool((largest < math.inf).all()):
        raise UnsupportedError("its mask adds numbers that neither keep a score nor mask it")
    absorbed = [each for each in np.unique(largest[np.isfinite(largest)]) if _is_absorbed(given, each)]
    gone = equal & np.isin(largest, absorbed)
    mask = equal & ~gone
    if mask.all():
        return Counted(value, call.order or (), axis, given, lambda values, one: values)
    return _with_constants(call, call.b.constant(mask, DType.BOOL), value, axis, given, gone.astype(np.float64))


def _is_absorbed(given: Parameters, number: float) -> bool:
    """Whether the float32 sum of any score and a number equals the number. Raises UnsupportedError if the sum neither
    equals the number nor keeps the score."""
    integers = np.arange(given.low, given.high + 1, dtype=np.float32) - np.float32(given.zero_point)
    scores = integers * np.float32(given.scale)
    left = (scores + np.float32(number)).astype(np.float64) - number
    if not left.any():
        return number != 0
    if np.abs(left - scores).max() > _MOST_ROUNDED:
        raise UnsupportedError(f"its mask adds {number} to all of a row, which rounds the scores in float32")
    return False
