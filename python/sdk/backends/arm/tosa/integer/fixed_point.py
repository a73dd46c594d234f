# SPDX-License-Identifier: BSD-3-Clause
"""Functions of int32 tensors: tables of wide results, and reciprocals and roots by Newton's method.

A mantissa is a positive int32 that is shifted left until it has 31 bits, or 30: `m / 2^31` is from 0.5, or 0.25, up to
1. The first guess is a table of the mantissa's eight highest bits; a step of Newton's method squares its error of
0.5 %, which leaves 2^-14: 0.02 steps of an int8 result.
"""

from __future__ import annotations

import numpy as np

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.integer.rescale import rescale
from sdk.backends.arm.tosa.schema import DType, Op

GUESSES = np.arange(-128, 128)
"""The indices of a guess: the mantissa divided by 2^23, minus 128."""


def lookup(b: Builder, index: Value, entries: np.ndarray) -> Value:
    """TABLE: 256 int8 results, by int8."""
    table = b.constant(np.asarray(entries).astype(np.int8), DType.INT8)
    return b.emit(Op["TABLE"], [index, table], index.shape, DType.INT8)


def wide_lookup(b: Builder, index: Value, entries: np.ndarray) -> Value:
    """256 results of more than eight bits, by int8: a table for each of their digits from -128 to 127."""
    digits: list[np.ndarray] = []
    rest = np.asarray(entries).astype(np.int64)
    while not digits or rest.any():
        digits.append((rest + 128) % 256 - 128)
        rest = (rest - digits[-1]) >> 8
    parts = [
        rescale(b, lookup(b, index, digit), float(1 << 8 * place), 0, DType.INT32) for place, digit in enumerate(digits)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = b.add(total, part)
    return total


def headroom(b: Builder, value: Value) -> Value:
    """By how many bits a positive int32 can be shifted left; 31 for 0."""
    return b.sub(b.unary("CLZ", value), 1)


def _guess(b: Builder, mantissa: Value, results: np.ndarray) -> Value:
    """`results`, from 1 to 2 for each of `GUESSES`, in units of 2^-29."""
    index = rescale(b, mantissa, 2.0**-23, 0, DType.INT8, -128)
    parts = lookup(b, index, np.rint((results - 1) * 255) - 128)
    return b.add(rescale(b, parts, 2.0**29 / 255, -128, DType.INT32), 1 << 29)


def reciprocal(b: Builder, mantissa: Value) -> Value:
    """2^60 / m of a mantissa of 31 bits: r * (2 - z * r) with z = m / 2^31."""
    r = _guess(b, mantissa, np.clip(256 / np.maximum(GUESSES + 128, 1), 1, 2))
    rest = b.sub(1 << 30, b.mul(mantissa, r, 31))
    return b.mul(r, rest, 29)


def inverse_root(b: Builder, mantissa: Value) -> Value:
    """2^29 / sqrt(m / 2^31) of a mantissa of 30 or 31 bits: r * (3 - z * r * r) / 2 with z = m / 2^31."""
    r = _guess(b, mantissa, np.clip(np.sqrt(256 / np.maximum(GUESSES + 128, 1)), 1, 2))
    rest = b.sub(3 << 28, b.mul(mantissa, b.mul(r, r, 30), 31))
    return b.mul(r, rest, 29)
