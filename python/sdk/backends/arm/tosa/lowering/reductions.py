# SPDX-License-Identifier: BSD-3-Clause
"""Sums, means, extremes and other reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.lowering.call import Call, Placed, without_axes
from sdk.backends.arm.tosa.lowering.registry import lowers
from sdk.backends.arm.tosa.schema import DType
from sdk.backends.arm.tosa.types import FLOATS, numpy_type

_MOST_SUMMED = 1024  # elements of a cumulative sum, which is a multiplication by a square matrix


def _dims(call: Call, name: str) -> list[int]:
    """The dimensions in an argument, or all dimensions if it is empty."""
    rank = len(call.shape_of("self"))
    given = call.get(name)
    dims = [given] if isinstance(given, int) else list(given or range(rank))
    return [dim % rank for dim in dims] if rank else []


def _reduced(call: Call, value: Value, order: tuple[int, ...], dims: Sequence[int]) -> Placed:
    """Removes the reduced dimensions, which have size 1, unless the call keeps them."""
    placed = Placed(value, order)
    keepdim = call.get("keepdim")
    return placed if keepdim else without_axes(call.b, placed, dims)


def _source(call: Call, dtype: DType | None = None) -> Placed:
    """The operand in its own layout, converted to the type of the result."""
    placed = call.placed("self")
    return Placed(call.b.cast(placed.value, call.working if dtype is None else dtype), placed.order)


@lowers("aten.sum.dim_IntList", "aten.sum.default")
def sum_(call: Call) -> Placed:
    source, dims = _source(call), _dims(call, "dim")
    return _reduced(call, call.b.reduce("REDUCE_SUM", source.value, [source.axis(d) for d in dims]), source.order, dims)


@lowers("aten.mean.dim", "aten.mean.default")
def mean(call: Call) -> Placed:
    source, dims = _source(call), _dims(call, "dim")
    return _reduced(call, call.b.mean(source.value, [source.axis(d) for d in dims]), source.order, dims)


@lowers("aten.prod.dim_int", "aten.prod.default")
def prod(call: Call) -> Placed:
    source, dims = _source(call), _dims(call, "dim")
    axes = [source.axis(d) for d in dims]
    return _reduced(call, call.b.reduce("REDUCE_PRODUCT", source.value, axes), source.order, dims)


@lowers("aten.amax.default")
def amax(call: Call) -> Placed:
    source, dims = _source(call), _dims(call, "dim")
    return _reduced(call, call.b.reduce("REDUCE_MAX", source.value, [source.axis(d) for d in dims]), source.order, dims)


@lowers("aten.amin.default")
def amin(call: Call) -> Placed:
    source, dims = _source(call), _dims(call, "dim")
    return _reduced(call, call.b.reduce("REDUCE_MIN", source.value, [source.axis(d) for d in dims]), source.order, dims)


@lowers("aten.any.default", "aten.any.dim", "aten.any.dims")
def any_(call: Call) -> Placed:
    source, dims = _source(call, DType.BOOL), _dims(call, "dim")
    return _reduced(call, call.b.reduce("REDUCE_ANY", source.value, [source.axis(d) for d in dims]), source.order, dims)


@lowers("aten.var.correction", "aten.var.dim")
def var(call: Call) -> Placed:
    source, dims = _source(call), _dims(call, "dim")
    axes = [source.axis(d) for d in dims]
    correction = call["correction"] if "correction" in call else int(call["unbiased"])
    count = int(np.prod([source.value.shape[axis] for axis in axes]))
    degrees = count - (1 if correction is None else correction)
    if degrees <= 0:
        raise UnsupportedError("it has no degrees of freedom to divide by")
    less = call.b.sub(source.value, call.b.mean(source.value, axes))
    total = call.b.reduce("REDUCE_SUM", call.b.mul(less, less), axes)
    return _reduced(call, call.b.mul(total, 1 / degrees), source.order, dims)


def _position(call: Call, sign: int) -> Placed:
    """The position of the maximum or minimum along a dimension, or in the flattened tensor if none is given."""
    placed = call.placed("self")
    if placed.value.dtype not in (*FLOATS, DType.INT8, DType.INT16):  # integers are quantised floats
        raise UnsupportedError("its operand is not a float")
    if call["dim"] is None:
        value = call.b.reshape(call.value("self"), (placed.value.size,))
        position = call.b.argmax(value if sign > 0 else _in_reverse(call, value), 0)
        return Placed.plain(call.b.reshape(position, call.shape))
    return _position_along(call, placed, sign)


def _in_reverse(call: Call, value: Value) -> Value:
    """Maps larger numbers to smaller ones, so that ARGMAX finds the minimum. NEGATE would saturate, and make the two
    smallest integers equal."""
    return call.b.negate(value) if value.dtype in FLOATS else call.b.unary("BITWISE_NOT", value)


def _position_along(call: Call, placed: Placed, sign: int) -> Placed:
    if not placed.order:
        return Placed.plain(call.b.constant(np.zeros((), dtype=numpy_type(DType.INT32)), DType.INT32))
    dim = call["dim"] % len(placed.order)
    axis = placed.axis(dim)
    found = call.b.argmax(placed.value if sign > 0 else _in_reverse(call, placed.value), axis)
    shape = [1 if each == axis else size for each, size in enumerate(placed.value.shape)]
    return _reduced(call, call.b.reshape(found, shape), placed.order, [dim])


@lowers("aten.argmax.default", indices=True)
def argmax(call: Call) -> Placed:
    return _position(call, 1)


@lowers("aten.argmin.default", indices=True)
def argmin(call: Call) -> Placed:
    return _position(call, -1)


def _extreme(call: Call, name: str, sign: int) -> list[Placed]:
    placed = call.placed("self")
    if placed.value.dtype not in FLOATS:
        raise UnsupportedError("its operand is not a float")
    position = _position_along(call, placed, sign)
    if not placed.order:
        return [placed, position]
    dim = call["dim"] % len(placed.order)
    value = call.b.reduce(name, placed.value, [placed.axis(dim)])
    return [_reduced(call, value, placed.order, [dim]), position]


@lowers("aten.max.dim", indices=True)
def max_(call: Call) -> list[Placed]:
    return _extreme(call, "REDUCE_MAX", 1)


@lowers("aten.min.dim", indices=True)
def min_(call: Call) -> list[Placed]:
    return _extreme(call, "REDUCE_MIN", -1)


@lowers("aten.cumsum.default")
def cumsum(call: Call) -> Placed:
    if call.dtype not in FLOATS:
        raise UnsupportedError("it adds integers; floats are lowered")
    return running_sums(call, call.working, lambda values, ones: call.b.matmul(values, ones))


def running_sums(call: Call, dtype: DType, multiply: Callable[[Value, Value], Value]) -> Placed:
    """Multiplies rows, [1, rows, size], by the matrix, [1, size, size], whose upper triangle is 1."""
    shape = call.shape
    if not shape:
        raise UnsupportedError("its operand has no dimensions")
    dim = call["dim"] % len(shape)
    if shape[dim] > _MOST_SUMMED:
        raise UnsupportedError(f"it adds more than {_MOST_SUMMED} numbers")
    order = (*(each for each in range(len(shape)) if each != dim), dim)
    value = call.b.cast(call.value("self", order), dtype)
    rows = value.size // shape[dim]
    ones = call.b.constant(np.triu(np.ones((1, shape[dim], shape[dim]), numpy_type(value.dtype))), value.dtype)
    total = multiply(call.b.reshape(value, (1, rows, shape[dim])), ones)
    return Placed(call.b.reshape(total, value.shape), order)
