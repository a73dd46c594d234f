# SPDX-License-Identifier: BSD-3-Clause
"""What softmax and norms of integers are made of, at the ends of its range, beside float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from arm_lowering import INT
from integer_reference import compute

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.integer import fixed_point, normalization
from sdk.backends.arm.tosa.schema import IDENTIFIER, TOSA_FILE, DType
from sdk.backends.arm.tosa.specification import TosaSpecification
from sdk.exir._serialize._flatbuffer import read_root

_LIMIT = 2**31


def _computed(function: Callable[[Builder, Value], Value], given: np.ndarray, dtype: DType) -> np.ndarray:
    """What the operators of a function give. Nothing on the way is beyond int32."""
    builder = Builder(TosaSpecification.create_from_string(INT))
    builder.output(function(builder, builder.input("x", given.shape, dtype)))
    (found,) = compute(read_root(TOSA_FILE, builder.serialize(), IDENTIFIER), [given])
    return found


def _mantissas(lowest: int) -> np.ndarray:
    ends = [lowest, lowest + 1, 2**30 - 1, 2**30, 2**30 + 1, _LIMIT - 2, _LIMIT - 1]
    numbers = np.linspace(lowest, _LIMIT - 1, 3001).astype(np.int64)
    return np.unique(np.concatenate([np.array([each for each in ends if each >= lowest]), numbers]))


def test_reciprocals() -> None:
    """Within 2^-14."""
    given = _mantissas(2**30)
    found = _computed(fixed_point.reciprocal, given, DType.INT32)
    assert np.abs(found * (given / 2.0**60) - 1).max() < 2.0**-14 and found.max() < _LIMIT


def test_inverse_roots() -> None:
    """Within 2^-14."""
    given = _mantissas(2**29)
    found = _computed(fixed_point.inverse_root, given, DType.INT32)
    assert np.abs(found * np.sqrt(given / 2.0**31) / 2.0**29 - 1).max() < 2.0**-14 and found.max() < _LIMIT


@pytest.mark.parametrize("entries", [range(256), range(-(2**23), 2**23, 2**16), [127] * 256, [128, -129] * 128])
def test_wide_tables(entries: list[int]) -> None:
    """Exact, for results of any number of digits."""
    index = np.arange(-128, 128)
    found = _computed(lambda b, x: fixed_point.wide_lookup(b, x, np.array(entries)), index, DType.INT8)
    np.testing.assert_array_equal(found, np.array(entries))


def _rows(size: int) -> np.ndarray:
    """Int8 rows without their zero point: a single other element, extremes, all alike, and noise."""
    rows = np.zeros((7, size), np.int64)
    rows[0, 0], rows[1, -1] = 1, -255
    rows[2, ::2] = 255
    rows[3] = 255
    rows[4, : size // 2] = 1
    rng = np.random.default_rng(0)
    rows[5], rows[6] = rng.integers(-255, 1, size), np.rint(rng.normal(40, 3, size))
    return rows


@pytest.mark.parametrize("size", [1, 2, 3, 192, 1024, 1 << 14])
@pytest.mark.parametrize("epsilon", [0.0, 1e-7, 0.004, 30.0])
@pytest.mark.parametrize("centred", [True, False])
def test_normalized_rows(size: int, epsilon: float, centred: bool) -> None:
    """Within 2^-12 of the largest result of a row, which is a sixteenth of a step of int8."""
    if epsilon * size > 2**18:
        epsilon = 2.0**18 / size
    given = _rows(size)

    def function(b: Builder, x: Value) -> Value:
        rows = normalization._centred(b, x) if centred else normalization._Rows(x, None)
        return normalization._normalized(b, rows, epsilon)

    found = _computed(function, given, DType.INT32) * np.sqrt(size) * 2.0**-28.5
    less = given - given.mean(1, keepdims=True) if centred else given
    squares = (less.astype(np.float64) ** 2).mean(1, keepdims=True) + epsilon
    expected = np.divide(less, np.sqrt(squares), out=np.zeros(less.shape), where=squares > 0)
    largest = np.abs(expected).max(1, keepdims=True)
    assert (np.abs(found - expected) <= 2.0**-12 * largest + 2.0**-20).all()
