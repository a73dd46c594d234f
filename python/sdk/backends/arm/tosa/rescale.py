# SPDX-License-Identifier: BSD-3-Clause
"""RESCALE, which multiplies integers by a factor, rounds them and changes their zero point.

A factor is `multiplier / 2^shift`, with 31 bits of multiplier, or 15 for sums of 48 bits (TOSA 1.0, "apply_scale").
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.schema import DType, Op, RoundingMode

if TYPE_CHECKING:
    from sdk.backends.arm.tosa.builder import Builder

_LEAST_SHIFT, _MOST_SHIFT = 2, 62


def multiplier_and_shift(factor: float, bits: int) -> tuple[int, int]:
    """Returns the nearest `multiplier / 2^shift` with a multiplier of `bits` bits, or of fewer if the shift would be
    too large. The multiplier is at least 1: 2^-62 rounds every sum of 48 bits to 0, as smaller factors do. Raises
    UnsupportedError if the factor is too large, or not a positive number."""
    if not math.isfinite(factor) or factor <= 0:
        raise UnsupportedError(f"it rescales by {factor}")
    mantissa, exponent = math.frexp(factor)  # mantissa is from 0.5 up to 1
    multiplier, shift = round(mantissa * (1 << bits)), bits - exponent
    if multiplier == 1 << bits:
        multiplier, shift = multiplier >> 1, shift - 1
    if shift > _MOST_SHIFT:
        multiplier, shift = max(round(math.ldexp(factor, _MOST_SHIFT)), 1), _MOST_SHIFT
    if shift < _LEAST_SHIFT:
        raise UnsupportedError(f"it rescales by {factor}, which is beyond TOSA's RESCALE")
    return multiplier, shift


def rescale(
    b: Builder, value: Value, factors: Any, zero_point: int, result: DType, result_zero_point: int = 0
) -> Value:
    """`(value - zero_point) * factor + result_zero_point`, limited to the type. Several factors belong to the indices
    of the last axis."""
    wide = value.dtype != DType.INT48
    pairs = [multiplier_and_shift(float(factor), 31 if wide else 15) for factor in np.asarray(factors).reshape(-1)]
    multipliers, shifts = (np.array(numbers) for numbers in zip(*pairs, strict=True))
    kind = DType.INT32 if wide else DType.INT16
    operands = [
        value,
        b.constant(multipliers.astype(np.int32 if wide else np.int16), kind),
        b.constant(shifts.astype(np.int8), DType.INT8),
        b.number(zero_point, value.dtype, 1),
        b.number(result_zero_point, result, 1),
    ]
    return b.emit(
        Op["RESCALE"],
        operands,
        value.shape,
        result,
        scale32=wide,
        rounding_mode=RoundingMode.SINGLE_ROUND,
        per_channel=len(pairs) > 1,
        input_unsigned=False,
        output_unsigned=False,
    )
