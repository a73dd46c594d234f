# SPDX-License-Identifier: BSD-3-Clause
"""Rescaling of integer sums by fixed-point factors, as integer hardware does it: a factor is an integer of 31 bits and
a shift. `rescale` rounds the product once, to nearest with ties up; `rescale_twice` rounds it as LiteRT's reference
kernels do."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

_BITS = 31
_LONGEST_SHIFT = 62
_SPLIT = 24  # bits of the lower part of a sum, so that products of the parts fit in int64
_LARGEST = 1 << 47  # sums of int16 products of 2**17 terms


def fixed_point(factor: float) -> tuple[int, int]:
    """A factor as `multiplier * 2 ** -shift`: the multiplier is from 2**30 to 2**31 - 1, and its sign is the factor's.
    The shift is from 1 to 62; smaller factors lose bits of the multiplier, larger ones are clamped.

    Raises ValueError if the factor is not finite.
    """
    if not math.isfinite(factor):
        raise ValueError(f"a factor between scales is {factor}; scales must be finite and larger than 0")
    if factor == 0:
        return 0, _BITS
    fraction, exponent = math.frexp(abs(factor))
    multiplier, shift = round(fraction * (1 << _BITS)), _BITS - exponent
    if multiplier == 1 << _BITS:
        multiplier, shift = multiplier >> 1, shift - 1
    if shift > _LONGEST_SHIFT:
        multiplier, shift = multiplier >> min(shift - _LONGEST_SHIFT, _BITS), _LONGEST_SHIFT
    elif shift < 1:
        multiplier, shift = (1 << _BITS) - 1, 1
    return (-multiplier if factor < 0 else multiplier), shift


def _fixed_points(sums: torch.Tensor, factors: Sequence[float], axis: int | None) -> tuple[torch.Tensor, torch.Tensor]:
    """The multipliers and shifts of one factor, or of one for each index of `axis`, in the shape that fits sums."""
    pairs = [fixed_point(factor) for factor in factors]
    shape = [1] * sums.dim()
    if axis is not None and sums.dim():
        shape[axis] = len(pairs)
    multiplier, shift = (
        torch.tensor([pair[position] for pair in pairs], dtype=torch.int64).reshape(shape if sums.dim() else ())
        for position in (0, 1)
    )
    return multiplier, shift


def rescale(sums: torch.Tensor, factors: Sequence[float], axis: int | None = None) -> torch.Tensor:
    """Multiplies int64 sums by factors and rounds to integers. There is one factor, or one for each index of `axis`.
    Sums beyond +-2**47 are clamped: with factors of at least 2**-32 their results exceed int16."""
    multiplier, shift = _fixed_points(sums, factors, axis)
    sums = sums.clamp(-_LARGEST, _LARGEST)
    half = torch.bitwise_left_shift(torch.ones_like(shift), shift - 1)
    # With a small shift the factor is large, so a sum whose product would overflow int64 has a result that is clamped
    # anyway.
    narrow = sums.clamp(-(1 << _BITS), 1 << _BITS)
    direct = torch.bitwise_right_shift(narrow * multiplier + half, shift)
    upper = torch.bitwise_right_shift(sums, _SPLIT)
    lower = sums - torch.bitwise_left_shift(upper, _SPLIT)
    rest = torch.bitwise_right_shift(lower * multiplier + half, _SPLIT)
    whole = torch.bitwise_right_shift(upper * multiplier + rest, (shift - _SPLIT).clamp(min=0))
    return torch.where(shift >= _SPLIT, whole, direct)


def rescale_twice(sums: torch.Tensor, factors: Sequence[float], axis: int | None = None) -> torch.Tensor:
    """Like `rescale`, for int32 sums, with gemmlowp's two roundings: first the upper half of the doubled product is
    rounded to nearest with ties up, then the remaining shift rounds to nearest with ties away from zero. Intermediate
    values outside int32 are clamped."""
    multiplier, shift = _fixed_points(sums, factors, axis)
    left, right = (_BITS - shift).clamp(min=0), (shift - _BITS).clamp(min=0)
    info = torch.iinfo(torch.int32)
    product = torch.bitwise_left_shift(sums.clamp(info.min, info.max), left).clamp(info.min, info.max) * multiplier
    half = torch.where(product < 0, 1 - (1 << (_BITS - 1)), 1 << (_BITS - 1))
    upper = torch.div(product + half, 1 << _BITS, rounding_mode="trunc")
    mask = torch.bitwise_left_shift(torch.ones_like(right), right) - 1
    threshold = torch.bitwise_right_shift(mask, 1) + (upper < 0)
    return torch.bitwise_right_shift(upper, right) + (torch.bitwise_and(upper, mask) > threshold)
