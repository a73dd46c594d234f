# SPDX-License-Identifier: BSD-3-Clause
"""Reductions and matrix multiplications in parts, so that no element of a result reads more than `MOST_READ` elements.

TOSA allows any number. But devices compute an element in one loop over the elements that it reads, and some end long
loops without an error: lavapipe stops the loops of a shader after 65,535 iterations in total, and Arm's emulation layer
then returns the sum of the first 65,533 elements. Parts also run in parallel, and the float32 error of their sum is
smaller.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.schema import DType
from sdk.backends.arm.tosa.types import limits_of, numpy_type

if TYPE_CHECKING:
    from sdk.backends.arm.tosa.builder import Builder

MOST_READ = 1 << 15

_EXACT = 1 << 24  # positions up to this one are exact in float32


def reduce_in_parts(b: Builder, name: str, value: Value, axis: int) -> Value:
    """Reduces a long axis in two steps, first each part, then the results of the parts. The axis keeps the size 1."""
    parts = _in_parts(b, value, axis, _neutral(name, value.dtype))
    reduced = b.reduce(name, b.reduce(name, parts, [2]), [1])
    return b.reshape(reduced, (*value.shape[:axis], 1, *value.shape[axis + 1 :]))


def argmax_in_parts(b: Builder, value: Value, axis: int) -> Value:
    """Returns the first position of the maximum along a long axis, as int32, without the axis. It finds the first part
    that contains the maximum, and then the position in this part."""
    if not b.specification.support_integer() and value.shape[axis] > _EXACT:
        raise UnsupportedError(f"its axis has {value.shape[axis]} elements; up to {_EXACT} are lowered without +INT")
    dtype = DType.INT32 if b.specification.support_integer() else DType.FP32
    parts = _in_parts(b, value, axis, _neutral("REDUCE_MAX", value.dtype))
    outer, count, size, inner = parts.shape
    largest = b.reshape(b.reduce("REDUCE_MAX", parts, [2]), (outer, count, inner))
    numbers = b.constant(np.arange(count, dtype=numpy_type(dtype)).reshape(1, count, 1), dtype)
    chosen = b.cast(b.reshape(b.argmax(largest, 1), (outer, 1, inner)), dtype)
    positions = b.add(b.cast(b.argmax(parts, 2), dtype), b.mul(numbers, size))
    found = b.reduce("REDUCE_SUM", b.select(b.equal(numbers, chosen), positions, 0), [1])
    return b.cast(b.reshape(found, value.shape[:axis] + value.shape[axis + 1 :]), DType.INT32)


def spans(size: int, most: int) -> list[tuple[int, int]]:
    """Returns (start, size) of the fewest parts of up to `most` elements each. Sizes differ by at most one."""
    count = -(-size // most)
    bounds = [number * size // count for number in range(count + 1)]
    return [(start, stop - start) for start, stop in itertools.pairwise(bounds)]


def _in_parts(b: Builder, value: Value, axis: int, neutral: float) -> Value:
    """Splits the axis into about sqrt(length) parts: [outer, parts, size, inner]. The last part is padded with
    `neutral`, which changes no result."""
    length = value.shape[axis]
    size = math.isqrt(length - 1) + 1
    count = -(-length // size)
    outer, inner = math.prod(value.shape[:axis]), math.prod(value.shape[axis + 1 :])
    padded = b.pad(b.reshape(value, (outer, length, inner)), [(0, 0), (0, count * size - length), (0, 0)], neutral)
    return b.reshape(padded, (outer, count, size, inner))


def _neutral(name: str, dtype: DType) -> float:
    if name in ("REDUCE_MAX", "REDUCE_MIN"):
        return limits_of(dtype)[name == "REDUCE_MIN"]
    return 1 if name in ("REDUCE_PRODUCT", "REDUCE_ALL") else 0
