# SPDX-License-Identifier: BSD-3-Clause
"""The fixed-point arithmetic of CMSIS-NN, as in kernels/cortex_m/cpu/fixed_point.h, on int64 tensors that hold int32.

A real multiplier is a pair of an int32 `multiplier` and a `shift`: multiplier / 2^31 * 2^shift.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import torch
from torch import Tensor

_HALF = 1 << 30
_INT32 = torch.iinfo(torch.int32)

Integer: TypeAlias = Tensor | int


def quantize_multiplier(scale: float) -> tuple[int, int]:
    """The multiplier and the shift of a scale, which is not negative."""
    if scale == 0.0:
        return 0, 0
    fraction, shift = math.frexp(scale)
    multiplier = round(fraction * (1 << 31))
    return (multiplier // 2, shift + 1) if multiplier == 1 << 31 else (multiplier, shift)


def wrapped(value: Tensor) -> Tensor:
    """The int32 with the lower 32 bits of an int64."""
    return ((value + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def divide_by_power_of_two(value: Tensor, exponent: Integer) -> Tensor:
    """value * 2^-exponent, rounded to nearest, ties away from zero."""
    mask = (torch.ones_like(value) << exponent) - 1
    threshold = (mask >> 1) + (value < 0)
    return (value >> exponent) + ((value & mask) > threshold)


def requantize(value: Tensor, multiplier: Integer, shift: Integer) -> Tensor:
    """value * multiplier / 2^31 * 2^shift, rounded twice: after the multiplication, ties upwards, and after a shift to
    the right, ties away from zero. A shift to the left wraps at 32 bits."""
    if isinstance(shift, Tensor):
        left, right = shift.clamp(min=0), (-shift).clamp(min=0)
    else:
        left, right = max(shift, 0), max(-shift, 0)
    high = (wrapped(value.to(torch.int64) << left) * multiplier + _HALF) >> 31
    return divide_by_power_of_two(wrapped(high), right)


def saturating_high_product(a: Tensor, b: Integer) -> Tensor:
    """a * b / 2^31, rounded to nearest, ties upwards. INT32_MIN * INT32_MIN gives INT32_MAX."""
    product = a * b
    half = torch.where(product >= 0, _HALF, 1 - _HALF)
    return torch.div(product + half, 1 << 31, rounding_mode="trunc").clamp(max=_INT32.max)


def shift_left_saturating(value: Tensor, exponent: int) -> Tensor:
    return (value << exponent).clamp(_INT32.min, _INT32.max)
