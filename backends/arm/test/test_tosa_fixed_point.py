# SPDX-License-Identifier: BSD-3-Clause
"""The building blocks of integer softmax and norms, at the ends of their ranges, compared with float64."""

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


def _computed(
    function: Callable[[Builder, Value], Value], given: np.ndarray, dtype: DType, specification: str = INT
) -> np.ndarray:
    """The results of a function's operators. Intermediate results fit in int32."""
    builder = Builder(TosaSpecification.create_from_string(specification))
    builder.output(function(builder, builder.input("x", given.shape, dtype)))
    (found,) = compute(read_root(TOSA_FILE, builder.serialize(), IDENTIFIER), [given])
    return found


def _mantissas(lowest: int) -> np.ndarray:
    ends = [lowest, lowest + 1, 2**30 - 1, 2**30, 2**30 + 1, _LIMIT - 2, _LIMIT - 1]
    numbers = np.linspace(lowest, _LIMIT - 1, 3001).astype(np.int64)
    return np.unique(np.concatenate([np.array([each for each in ends if each >= lowest]), numbers]))


def test_reciprocals() -> None:
    """Reciprocals are within 2^-14."""
    given = _mantissas(2**30)
    found = _computed(fixed_point.reciprocal, given, DType.INT32)
    assert np.abs(found * (given / 2.0**60) - 1).max() < 2.0**-14 and found.max() < _LIMIT


def test_inverse_roots() -> None:
    """Inverse square roots are within 2^-14."""
    given = _mantissas(2**29)
    found = _computed(fixed_point.inverse_root, given, DType.INT32)
    assert np.abs(found * np.sqrt(given / 2.0**31) / 2.0**29 - 1).max() < 2.0**-14 and found.max() < _LIMIT


def test_two_steps() -> None:
    """Reciprocals and inverse square roots after two steps of refinement are within 2^-26."""
    given = _mantissas(2**30)
    found = _computed(lambda b, x: fixed_point.reciprocal(b, x, 2), given, DType.INT32)
    assert np.abs(found * (given / 2.0**60) - 1).max() < 2.0**-26 and found.max() < _LIMIT
    given = _mantissas(2**29)
    found = _computed(lambda b, x: fixed_point.inverse_root(b, x, 2), given, DType.INT32)
    assert np.abs(found * np.sqrt(given / 2.0**31) / 2.0**29 - 1).max() < 2.0**-26 and found.max() < _LIMIT


def test_logarithms() -> None:
    """Logarithms are within 2^-18, and exactly 0 for 1."""
    given = _mantissas(2**30)
    found = _computed(fixed_point.logarithm, given, DType.INT32)
    assert np.abs(found / 2.0**28 - np.log(given / 2.0**30)).max() < 2.0**-18 and found[0] == 0


@pytest.mark.parametrize("size", [1, 2, 3, 1000, 2048])
def test_wide_totals(size: int) -> None:
    """Sums of the largest numbers, of many small numbers and a large one, and of noise are within 2^-29."""
    given = np.zeros((5, size), np.int64)
    given[0] = 2**30
    given[1, 0], given[2] = 2**30, 1023
    given[2, -1] = 2**30
    given[3:] = np.random.default_rng(0).integers(0, 2**30, (2, size))
    given[3:, 0] = 2**30
    expected = given.sum(1, keepdims=True)
    totals = [
        _computed(lambda b, x, name=name: getattr(fixed_point.wide_total(b, x, 1, 11, False), name), given, DType.INT32)
        for name in ("mantissa", "room")
    ]
    assert totals[0].min() >= 2**30
    assert np.abs(totals[0] * 2.0 ** (11 - totals[1]) / expected - 1).max() < 2.0**-29
    nothing = _computed(lambda b, x: fixed_point.wide_total(b, x, 1, 11, True).mantissa, given * 0, DType.INT32)
    assert (nothing == 2**30).all()


@pytest.mark.parametrize("entries", [range(256), range(-(2**23), 2**23, 2**16), [127] * 256, [128, -129] * 128])
def test_wide_tables(entries: list[int]) -> None:
    """Lookups are exact for entries of any size."""
    index = np.arange(-128, 128)
    found = _computed(lambda b, x: fixed_point.wide_lookup(b, x, np.array(entries)), index, DType.INT8)
    np.testing.assert_array_equal(found, np.array(entries))


@pytest.mark.parametrize("entries", [range(256), range(-(2**15), 2**15, 2**8), [2**15 - 1, -(2**15)] * 128])
def test_short_tables(entries: list[int]) -> None:
    """Lookups of int16 are exact, also where neighbours are far apart."""
    positions = np.arange(-128, 128)
    found = _computed(
        lambda b, x: fixed_point.short_lookup(b, x, np.array(entries)), positions, DType.INT32, f"{INT}+int16"
    )
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


@pytest.mark.sampled
@pytest.mark.parametrize("size", [1, 2, 3, 192, 1024, 1 << 14])
@pytest.mark.parametrize("epsilon", [0.0, 1e-7, 0.004, 30.0])
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("wide", [False, True])
def test_normalized_rows(size: int, epsilon: float, centred: bool, wide: bool) -> None:
    """Results are within 2^-12 of the largest result of a row, a sixteenth of a step of int8. For wide numbers they are
    within 2^-17, and within 2^-13 for a row whose range is at most one step, because the mean has 13 fractional
    bits."""
    if epsilon * size > 2**18:
        epsilon = 2.0**18 / size
    given = _rows(size) * (257 if wide else 1)
    if wide:
        given[4] //= 257

    def function(b: Builder, x: Value) -> Value:
        if wide:
            return normalization._wide_normalized(b, x, centred, epsilon)
        rows = normalization._centred(b, x) if centred else normalization._Rows(x, None)
        return normalization._normalized(b, rows, epsilon)

    found = _computed(function, given, DType.INT32) * np.sqrt(size) * 2.0 ** (-28 if wide else -28.5)
    less = given - given.mean(1, keepdims=True) if centred else given
    squares = (less.astype(np.float64) ** 2).mean(1, keepdims=True) + epsilon
    expected = np.divide(less, np.sqrt(squares), out=np.zeros(less.shape), where=squares > 0)
    largest = np.abs(expected).max(1, keepdims=True)
    single = np.arange(7)[:, None] == 4
    relative = np.where(single, 2.0**-13, 2.0**-17) if wide else 2.0**-12
    assert (np.abs(found - expected) <= relative * largest + 2.0**-20).all()
