# SPDX-License-Identifier: BSD-3-Clause
"""`Builder`: the operators of TOSA as functions that infer shapes, and accept numbers as operands.

Operands of one operator are broadcast as PyTorch does it: TOSA itself requires equal ranks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Graph, Value
from sdk.backends.arm.tosa.parts import MOST_READ, argmax_in_parts, reduce_in_parts, spans
from sdk.backends.arm.tosa.schema import DType, NanMode, Op
from sdk.backends.arm.tosa.specification import TosaSpecification
from sdk.backends.arm.tosa.transposes import transposed_by_convolution
from sdk.backends.arm.tosa.types import FLOATS, limits_of, numpy_type

Operand = Value | float | int | bool

_NAN = {"nan_mode": NanMode.PROPAGATE}
MOST_OPERANDS = 64
"""The most operands of a CONCAT: MAX_TENSOR_LIST_SIZE of TOSA's level 8K."""
_MOST_DIMENSIONS = 4  # of an operator of an Ethos-U55 whose first operand is one element
_EXTREMES = {"REDUCE_MAX": "MAXIMUM", "REDUCE_MIN": "MINIMUM"}
_ATTRIBUTES: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("MAXIMUM", "MINIMUM", "REDUCE_MAX", "REDUCE_MIN"), _NAN),
    "ARITHMETIC_RIGHT_SHIFT": {"round": False},
}


class Builder(Graph):
    """A graph with a function for each operator that lowerings consist of."""

    def __init__(self, specification: TosaSpecification) -> None:
        super().__init__(specification)
        self._transposes: dict[tuple[Value, tuple[int, ...]], Value] = {}
        self._transposed_from: dict[Value, tuple[Value, tuple[int, ...]]] = {}
        self._made: dict[tuple[Any, ...], Value] = {}

    # Constants

    def number(self, number: float, dtype: DType, rank: int = 0) -> Value:
        """A constant with one element, of the given rank. Raises UnsupportedError for an integer that the type does
        not hold."""
        numpy = numpy_type(dtype)
        if numpy.kind == "i":
            if not np.isfinite(number) or not np.iinfo(numpy).min <= number <= np.iinfo(numpy).max:
                raise UnsupportedError(f"the number {number} is beyond {dtype.name.lower()}")
            number = int(number)
        return self.constant(np.full((1,) * rank, number, dtype=numpy), dtype)

    # Arithmetic

    def binary(self, name: str, first: Operand, second: Operand, result: DType | None = None) -> Value:
        """Adds an operator with two operands of one type, at least one of which is a tensor."""
        a, b = self._alike(first, second)
        return self._broadcast(name, [a, b], result or a.dtype)

    def add(self, first: Operand, second: Operand) -> Value:
        return self.binary("ADD", first, second)

    def sub(self, first: Operand, second: Operand) -> Value:
        return self.binary("SUB", first, second)

    def mul(self, first: Operand, second: Operand, shift: int = 0) -> Value:
        """Adds a multiplication. Integers give int32; a product of int32 is computed in 64 bits, divided by 2^shift and
        rounded."""
        a, b = self._alike(first, second)
        result = a.dtype if a.dtype in FLOATS else DType.INT32
        return self._broadcast("MUL", [a, b, self.number(shift, DType.INT8, 1)], result)

    def shift_left(self, value: Operand, bits: Operand) -> Value:
        """int32 times 2^bits, modulo 2^32."""
        return self.binary("LOGICAL_LEFT_SHIFT", value, bits)

    def shift_right(self, value: Operand, bits: Operand) -> Value:
        """int32 divided by 2^bits, rounded down."""
        return self.binary("ARITHMETIC_RIGHT_SHIFT", value, bits)

    def div(self, first: Operand, second: Operand) -> Value:
        """A quotient of floats."""
        if isinstance(second, (int, float)) and second and math.isfinite(1 / second):
            return self.mul(first, 1 / second)
        a, b = self._alike(first, second)
        return self.mul(a, self.unary("RECIPROCAL", b))

    def maximum(self, first: Operand, second: Operand) -> Value:
        return self.binary("MAXIMUM", first, second)

    def minimum(self, first: Operand, second: Operand) -> Value:
        return self.binary("MINIMUM", first, second)

    def greater(self, first: Operand, second: Operand) -> Value:
        return self.binary("GREATER", first, second, DType.BOOL)

    def greater_equal(self, first: Operand, second: Operand) -> Value:
        return self.binary("GREATER_EQUAL", first, second, DType.BOOL)

    def equal(self, first: Operand, second: Operand) -> Value:
        return self.binary("EQUAL", first, second, DType.BOOL)

    def unary(self, name: str, value: Value) -> Value:
        """An operator on one operand, whose result has the operand's shape and dtype."""
        return self.emit(Op[name], [value], value.shape, value.dtype)

    def negate(self, value: Value) -> Value:
        zero = self.number(0, value.dtype, 1)
        return self.emit(Op["NEGATE"], [value, zero, zero], value.shape, value.dtype)

    def logical_not(self, value: Value) -> Value:
        return self.unary("LOGICAL_NOT", value)

    def sqrt(self, value: Value) -> Value:
        """1 / (1 / sqrt(x)), which is correct for 0 and infinity too."""
        return self.unary("RECIPROCAL", self.unary("RSQRT", value))

    def clamp(self, value: Value, low: float | None, high: float | None) -> Value:
        """Limits floats, int8 or int16; None means no limit."""
        lowest, highest = limits_of(value.dtype)
        bounds = [lowest if low is None else low, highest if high is None else high]
        if bounds[0] > bounds[1]:
            bounds[0] = bounds[1]  # PyTorch returns the upper limit in this case
        if any(math.isnan(bound) for bound in bounds):
            raise UnsupportedError("a limit is not a number")
        if value.dtype not in FLOATS:
            bounds = [min(max(bound, lowest), highest) for bound in bounds]
        low_bytes, high_bytes = (np.array(bound, dtype=numpy_type(value.dtype)).tobytes() for bound in bounds)
        return self.emit(
            Op["CLAMP"],
            [value],
            value.shape,
            value.dtype,
            min_val=low_bytes,
            max_val=high_bytes,
            nan_mode=NanMode.PROPAGATE,
        )

    def select(self, condition: Value, first: Operand, second: Operand, dtype: DType | None = None) -> Value:
        """`first` where the condition holds. Where both are numbers, `dtype` is their type."""
        if dtype is not None:
            first, second = (each if isinstance(each, Value) else self.number(each, dtype) for each in (first, second))
        a, b = self._alike(first, second)
        rank = max(condition.rank, a.rank, b.rank)
        condition, a, b = (self.with_rank(each, rank) for each in (condition, a, b))
        return self.emit(Op["SELECT"], [condition, a, b], broadcast(condition.shape, a.shape, b.shape), a.dtype)

    def cast(self, value: Value, dtype: DType) -> Value:
        """The elements in another type. Floats become integers by truncation, as in PyTorch."""
        if value.dtype == dtype:
            return value
        if dtype == DType.BOOL:
            if value.dtype in FLOATS or value.dtype == DType.INT32:
                return self.logical_not(self.equal(value, 0))
            return self.convert(value, dtype)
        if value.dtype == DType.BOOL and dtype in FLOATS:
            return self.select(value, 1, 0, dtype)
        if value.dtype in FLOATS and dtype not in (*FLOATS, DType.BF16):
            value = self.truncate(value)
        return self.convert(value, dtype)

    def convert(self, value: Value, dtype: DType) -> Value:
        """CAST itself, which rounds floats to the nearest integer and limits them to the type."""
        return self.emit(Op["CAST"], [value], value.shape, dtype)

    def truncate(self, value: Value) -> Value:
        """Floats rounded towards zero."""
        return self.select(self.greater(0, value), self.unary("CEIL", value), self.unary("FLOOR", value))

    def round(self, value: Value) -> Value:
        """Floats of less than 2^31 rounded to the nearest integer, ties to even, as CAST does it."""
        return self.convert(self.convert(value, DType.INT32), value.dtype)

    # Reductions

    def reduce(self, name: str, value: Value, axes: Sequence[int]) -> Value:
        """Reduces axes, which stay with the size 1."""
        for axis in axes:
            if name in _EXTREMES and value.dtype == DType.INT32 and self.specification.is_U55_subset:
                value = self._extreme(_EXTREMES[name], value, axis)
                continue
            if value.shape[axis] > MOST_READ:
                value = reduce_in_parts(self, name, value, axis)
                continue
            shape = [1 if each == axis else size for each, size in enumerate(value.shape)]
            value = self.emit(Op[name], [value], shape, value.dtype, axis=axis, **_ATTRIBUTES.get(name, {}))
        return value

    def _extreme(self, name: str, value: Value, axis: int) -> Value:
        """Reduces int32, because an Ethos-U55 reduces int8 and int16 only. Each step takes the maximum or minimum of
        two halves, which overlap if the size is odd."""
        while (size := value.shape[axis]) > 1:
            half = (size + 1) // 2
            value = self.binary(name, self.cut(value, axis, 0, half), self.cut(value, axis, size - half, half))
        return value

    def mean(self, value: Value, axes: Sequence[int]) -> Value:
        """The mean of floats over axes, which stay with the size 1."""
        count = math.prod(value.shape[axis] for axis in axes)
        return self.mul(self.reduce("REDUCE_SUM", value, axes), 1 / count)

    def argmax(self, value: Value, axis: int) -> Value:
        """The first position of the largest element, as int32, without the axis."""
        if value.shape[axis] > MOST_READ:
            return argmax_in_parts(self, value, axis)
        shape = [size for each, size in enumerate(value.shape) if each != axis]
        return self.emit(Op["ARGMAX"], [value], shape, DType.INT32, axis=axis, nan_mode=NanMode.PROPAGATE)

    # Matrices

    def matmul(
        self, first: Value, second: Value, zero_points: Sequence[int] = (0, 0), result: DType = DType.FP32
    ) -> Value:
        """[batches, rows, inner] times [batches, inner, columns]. The result of floats is float32."""
        zeros = [self.number(zero, each.dtype, 1) for zero, each in zip(zero_points, (first, second), strict=True)]
        shape = (first.shape[0], first.shape[1], second.shape[2])
        return self.added(
            [
                self.emit(Op["MATMUL"], [self.cut(first, 2, *part), self.cut(second, 1, *part), *zeros], shape, result)
                for part in spans(first.shape[2], MOST_READ)
            ]
        )

    def added(self, sums: Sequence[Value]) -> Value:
        """Adds the partial sums."""
        total = sums[0]
        if len(sums) > 1 and total.dtype == DType.INT48:
            raise UnsupportedError(
                f"an element of its result reads more than {MOST_READ} elements, and TOSA 1.0 does not add int48"
            )
        for each in sums[1:]:
            total = self.add(total, each)
        return total

    # Shapes

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        """Adds a reshape, which keeps the order of the elements."""
        sizes = tuple(int(size) for size in shape)
        if sizes == value.shape:
            return value
        if value.constant is not None:
            return self._computed(value, "reshape", sizes, lambda array: array.reshape(sizes))
        return self.emit(Op["RESHAPE"], [value, self.shape(sizes)], sizes, value.dtype)

    def with_rank(self, value: Value, rank: int) -> Value:
        """Adds sizes of 1 in front."""
        return self.reshape(value, (1,) * (rank - value.rank) + value.shape)

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        """Axis i of the result is axis `order[i]` of the value. Each transpose is made once. A transpose of a transpose
        starts at the first one's operand, and a transpose that moves only dimensions of size 1 is a reshape."""
        order = tuple(order)
        if value.constant is not None:
            return self._computed(value, "transpose", order, lambda array: array.transpose(order))
        if value in self._transposed_from:
            value, before = self._transposed_from[value]
            order = tuple(before[axis] for axis in order)
        if order == tuple(range(value.rank)):
            return value
        shape = [value.shape[axis] for axis in order]
        moved = [axis for axis in order if value.shape[axis] != 1]
        if moved == sorted(moved):
            return self.reshape(value, shape)
        key = (value, order)
        if key not in self._transposes:
            made = transposed_by_convolution(self, value, order)
            if made is None:
                made = self.emit(Op["TRANSPOSE"], [value], shape, value.dtype, perms=list(order))
            self._transposes[key] = made
            self._transposed_from[made] = (value, order)
        return self._transposes[key]

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        if len(values) == 1:
            return values[0]
        if len(values) > MOST_OPERANDS:
            parts = [values[i : i + MOST_OPERANDS] for i in range(0, len(values), MOST_OPERANDS)]
            return self.concat([self.concat(part, axis) for part in parts], axis)
        first = values[0]
        shape = list(first.shape)
        shape[axis] = sum(value.shape[axis] for value in values)
        return self.emit(Op["CONCAT"], list(values), shape, first.dtype, axis=axis)

    def slice(self, value: Value, start: Sequence[int], size: Sequence[int]) -> Value:
        """A slice of `size` elements from `start` on, for each axis."""
        if tuple(size) == value.shape:
            return value
        if value.constant is not None:
            cut = tuple(slice(first, first + count) for first, count in zip(start, size, strict=True))
            return self._computed(value, "slice", (tuple(start), tuple(size)), lambda array: array[cut])
        return self.emit(Op["SLICE"], [value, self.shape(start), self.shape(size)], size, value.dtype)

    def cut(self, value: Value, axis: int, start: int, size: int) -> Value:
        """`slice` along one axis."""
        starts, sizes = [0] * value.rank, list(value.shape)
        starts[axis], sizes[axis] = start, size
        return self.slice(value, starts, sizes)

    def pad(self, value: Value, pads: Sequence[tuple[int, int]], number: float = 0) -> Value:
        """Adds elements before and after each axis."""
        if not any(map(any, pads)):
            return value
        shape = [before + size + after for size, (before, after) in zip(value.shape, pads, strict=True)]
        flat = self.shape([each for pair in pads for each in pair])
        return self.emit(Op["PAD"], [value, flat, self.number(number, value.dtype, 1)], shape, value.dtype)

    def tile(self, value: Value, times: Sequence[int]) -> Value:
        if all(time == 1 for time in times):
            return value
        shape = [size * time for size, time in zip(value.shape, times, strict=True)]
        return self.emit(Op["TILE"], [value, self.shape(times)], shape, value.dtype)

    def reverse(self, value: Value, axis: int) -> Value:
        if value.shape[axis] == 1:
            return value
        return self.emit(Op["REVERSE"], [value], value.shape, value.dtype, axis=axis)

    def gather(self, values: Value, indices: Value) -> Value:
        """The rows of [batches, rows, channels] at the indices [batches, count]."""
        shape = (*indices.shape, values.shape[2])
        return self.emit(Op["GATHER"], [values, indices], shape, values.dtype)

    def scatter(self, values: Value, indices: Value, rows: Value) -> Value:
        """[batches, rows, channels] with the rows at [batches, count] replaced. No index may occur twice."""
        for part in spans(indices.shape[1], MOST_READ):
            operands = [values, self.cut(indices, 1, *part), self.cut(rows, 1, *part)]
            values = self.emit(Op["SCATTER"], operands, values.shape, values.dtype)
        return values

    def _broadcast(self, name: str, operands: Sequence[Value], result: DType) -> Value:
        """An operator that broadcasts its first two operands, which have one rank. If that is more than four, and the
        first operand is one element, Vela's commands for an Ethos-U55 or U65 read beyond it as if it were a whole
        tensor; these NPUs get the operator in four dimensions."""
        a, b, *others = operands
        shape = broadcast(a.shape, b.shape)
        if not (self.specification.is_U55_subset and a.size == 1 and len(shape) > _MOST_DIMENSIONS):
            return self.emit(Op[name], operands, shape, result, **_ATTRIBUTES.get(name, {}))
        joined = (math.prod(shape[: 1 - _MOST_DIMENSIONS]), *shape[1 - _MOST_DIMENSIONS :])
        parts = [self.reshape(a, (1,) * _MOST_DIMENSIONS), self.reshape(b, joined), *others]
        found = self.emit(Op[name], parts, joined, result, **_ATTRIBUTES.get(name, {}))
        return self.reshape(found, shape)

    def _alike(self, first: Operand, second: Operand) -> tuple[Value, Value]:
        dtype = first.dtype if isinstance(first, Value) else second.dtype  # type: ignore[union-attr]
        a, b = (each if isinstance(each, Value) else self.number(each, dtype) for each in (first, second))
        if a.dtype != b.dtype:
            raise AssertionError(f"operands of {a.dtype.name} and {b.dtype.name}")
        rank = max(a.rank, b.rank)
        return self.with_rank(a, rank), self.with_rank(b, rank)

    def _computed(
        self, value: Value, what: str, parameters: tuple, compute: Callable[[np.ndarray], np.ndarray]
    ) -> Value:
        """A constant that is computed from another. It is made once for each set of parameters."""
        key = (value, what, parameters)
        if key not in self._made:
            assert value.constant is not None
            self._made[key] = self.constant(compute(value.constant), value.dtype)
        return self._made[key]


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which operands of equal rank are broadcast."""
    return tuple(max(sizes) for sizes in zip(*shapes, strict=True))
