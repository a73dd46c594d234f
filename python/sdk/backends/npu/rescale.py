# SPDX-License-Identifier: BSD-3-Clause
"""Rescaling of integer sums by fixed-point factors, as integer hardware does it: a factor is an integer of 31 bits and
a shift, and the product is rounded once, to nearest with ties up."""

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
    The shift is from 1 to 62; smaller factors lose bits of the multiplier, larger ones are cut.

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


def rescale(sums: torch.Tensor, factors: Sequence[float], axis: int | None = None) -> torch.Tensor:
    """int64 sums times factors, rounded to integers. There is one factor, or one for each index of `axis`. Sums beyond
    2**47 are cut, because their results are beyond every integer that is stored."""
    pairs = [fixed_point(factor) for factor in factors]
    shape = [1] * sums.dim()
    if axis is not None and sums.dim():
        shape[axis] = len(pairs)
    multiplier, shift = (
        torch.tensor([pair[position] for pair in pairs], dtype=torch.int64).reshape(shape if sums.dim() else ())
        for position in (0, 1)
    )
    sums = sums.clamp(-_LARGEST, _LARGEST)
    half = torch.bitwise_left_shift(torch.ones_like(shift), shift - 1)
    # With short shifts the factor is large: a sum whose product would leave int64 has a result that is cut anyway.
    narrow = sums.clamp(-(1 << _BITS), 1 << _BITS)
    direct = torch.bitwise_right_shift(narrow * multiplier + half, shift)
    upper = torch.bitwise_right_shift(sums, _SPLIT)
    lower = sums - torch.bitwise_left_shift(upper, _SPLIT)
    rest = torch.bitwise_right_shift(lower * multiplier + half, _SPLIT)
    whole = torch.bitwise_right_shift(upper * multiplier + rest, (shift - _SPLIT).clamp(min=0))
    return torch.where(shift >= _SPLIT, whole, direct)
