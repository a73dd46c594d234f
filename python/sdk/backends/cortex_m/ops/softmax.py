# SPDX-License-Identifier: BSD-3-Clause
"""Softmax in fixed point, as kernels/cortex_m/cpu/op_softmax.cpp computes it."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sdk.backends.cortex_m.ops.fixed_point import (
    divide_by_power_of_two,
    quantize_multiplier,
    saturating_high_product,
    shift_left_saturating,
)

INTEGER_BITS = 5
"""The integer bits of the differences from the largest element."""
OUTPUT_SCALE, OUTPUT_ZERO_POINT = 1.0 / 256.0, -128

_SUM_BITS = 12
_QUARTER = 1 << (31 - INTEGER_BITS - 2)
_POWERS = [round(math.exp(-(2.0**k)) * 2**31) for k in range(-2, INTEGER_BITS)]  # e^(-1/4) to e^-16
_AT_EIGHTH, _THIRD = round(math.exp(-1 / 8) * 2**31), round(2**31 / 3)
_LARGEST_SUM = (1 << 32) - 1


def softmax_parameters(input_scale: float) -> tuple[int, int, int]:
    """`input_multiplier`, `input_shift` and `diff_min` for an input with a scale."""
    fraction_bits = 31 - INTEGER_BITS
    multiplier, shift = quantize_multiplier(min(input_scale * (1 << fraction_bits), float((1 << 31) - 1)))
    if shift < 0:  # the input scale is tiny, so that all exponentials are almost equal
        multiplier, shift = multiplier >> -shift, 0
    least = ((1 << INTEGER_BITS) - 1) * 2.0**fraction_bits / 2.0**shift
    return multiplier, shift, -min(math.floor(least), 1 << 31)


def softmax(values: Tensor, dim: int, multiplier: int, shift: int, least: int) -> Tensor:
    """int8 probabilities with OUTPUT_SCALE and OUTPUT_ZERO_POINT."""
    differences = values.to(torch.int64)
    differences = differences - differences.amax(dim, keepdim=True)
    counts = differences >= least
    moved = ((differences << shift) + (1 << 31) & 0xFFFFFFFF) - (1 << 31)
    powers = _exponential(saturating_high_product(moved, multiplier))
    terms = torch.where(counts, divide_by_power_of_two(powers, _SUM_BITS), 0)
    total = terms.sum(dim, keepdim=True).clamp(max=_LARGEST_SUM)
    # float64 holds the integer exactly, so its exponent is that of the integer.
    headroom = 32 - torch.frexp(total.to(torch.float64)).exponent.to(torch.int64)
    scale = _reciprocal_of_one_plus((total << headroom) - (1 << 31))
    bits = _SUM_BITS - headroom + 31 - 8
    shares = divide_by_power_of_two(saturating_high_product(powers, scale), bits)
    results = torch.where(counts & (bits <= 31), shares, 0) + OUTPUT_ZERO_POINT
    return results.clamp(-128, 127).to(torch.int8)


def _exponential(value: Tensor) -> Tensor:
    """e^x for x <= 0, with 31 bits after the binary point."""
    part = (value & (_QUARTER - 1)) - _QUARTER
    x = (part << INTEGER_BITS) + (1 << 28)
    square = saturating_high_product(x, x)
    fourth = divide_by_power_of_two(saturating_high_product(square, square), 2)
    higher = saturating_high_product(fourth + saturating_high_product(square, x), _THIRD) + square
    result = _AT_EIGHTH + saturating_high_product(x + divide_by_power_of_two(higher, 1), _AT_EIGHTH)
    rest = part - value
    for bit, factor in enumerate(_POWERS):
        result = torch.where((rest & (_QUARTER << bit)) != 0, saturating_high_product(result, factor), result)
    return torch.where(value == 0, (1 << 31) - 1, result)


def _reciprocal_of_one_plus(x: Tensor) -> Tensor:
    """1 / (1 + x) for 0 <= x <= 1, with 31 bits after the binary point."""
    half = torch.div(x + (1 << 31), 2, rounding_mode="trunc")
    guess = 1515870810 + saturating_high_product(half, -1010580540)  # 48/17 - 32/17 x
    for _ in range(3):
        error = (1 << 29) - saturating_high_product(half, guess)
        guess = guess + shift_left_saturating(saturating_high_product(guess, error), 2)
    return shift_left_saturating(guess, 1)
