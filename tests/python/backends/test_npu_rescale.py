# SPDX-License-Identifier: BSD-3-Clause
"""Fixed-point factors of `sdk.backends.npu`, against arithmetic in Python's integers and fractions."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
import torch

from sdk.backends.npu.rescale import fixed_point, rescale, rescale_twice

FACTORS = (1.0, 0.5, 2**-20, 0.3, 1e-5, 3.7e-9, 1 - 2**-40, 7.25, 1e4, 2**-31, -0.3, -1e-5)


@pytest.mark.parametrize("factor", FACTORS)
def test_a_factor_has_31_bits(factor: float) -> None:
    multiplier, shift = fixed_point(factor)
    assert 1 << 30 <= abs(multiplier) < 1 << 31 and 1 <= shift <= 62
    assert abs(Fraction(multiplier, 1 << shift) / Fraction(factor) - 1) <= Fraction(1, 1 << 31)


def test_factors_at_the_ends() -> None:
    assert fixed_point(0.0) == (0, 31)
    assert fixed_point(2.0**-70)[1] == 62 and fixed_point(2.0**-200) == (0, 62)
    assert fixed_point(2.0**40) == ((1 << 31) - 1, 1)
    for wrong in (float("inf"), float("nan")):
        with pytest.raises(ValueError, match="scales must be finite"):
            fixed_point(wrong)


@pytest.mark.parametrize("factor", [2.0**-61, 2.0**-62, -(2.0**-63), 2.0**-94, 5e-324])
def test_products_with_tiny_factors_are_zero(factor: float) -> None:
    """No sum is above 2**47, and half a unit needs a product of 0.5."""
    sums = torch.tensor([0, 1, -1, (1 << 31) - 1, -(1 << 31), 1 << 47, -(1 << 47)])
    assert not rescale(sums, [factor]).any() and not rescale_twice(sums, [factor]).any()


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("bits", [8, 20, 31, 46])
def test_sums_are_rounded_once(factor: float, bits: int) -> None:
    """The result is the exact product of the sum and the multiplier, rounded to nearest with ties up."""
    numbers = random.Random(bits)
    sums = [numbers.randint(-(1 << bits), 1 << bits) for _ in range(200)] + [0, 1, -1, 1 << bits, -(1 << bits)]
    multiplier, shift = fixed_point(factor)
    exact = [(each * multiplier + (1 << (shift - 1))) >> shift for each in sums]
    results = rescale(torch.tensor(sums), [factor]).tolist()
    beyond = 1 << 31  # larger results are clamped
    for found, expected in zip(results, exact, strict=True):
        assert found == expected or (abs(expected) >= beyond and found * expected > 0 and abs(found) >= beyond)


def test_channels_have_their_factors() -> None:
    sums = torch.arange(-12, 12).reshape(2, 3, 4) * 1001
    factors = [0.5, 0.013, 3.0]
    found = rescale(sums, factors, axis=1)
    for channel, factor in enumerate(factors):
        assert torch.equal(found[:, channel], rescale(sums[:, channel], [factor]))


def test_a_number_without_dimensions() -> None:
    assert rescale(torch.tensor(10), [0.25]).item() == 3
    assert rescale(torch.tensor(-10), [0.25]).item() == -2


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("bits", [8, 20, 31])
def test_sums_are_rounded_twice(factor: float, bits: int) -> None:
    """Rounds like gemmlowp. It takes the upper half of the doubled product, rounded to nearest with ties up, clamps it
    to int32, and shifts it with rounding to nearest and ties away from zero."""
    numbers = random.Random(bits)
    sums = [numbers.randint(-(1 << bits), (1 << bits) - 1) for _ in range(200)] + [0, 1, -1, (1 << bits) - 1]
    multiplier, shift = fixed_point(factor)
    low, high = -(1 << 31), (1 << 31) - 1

    def away(fraction: Fraction) -> int:
        return int(abs(fraction) + Fraction(1, 2)) * (1 if fraction > 0 else -1)

    exact = []
    for each in sums:
        shifted = min(max(each << max(31 - shift, 0), low), high)
        upper = Fraction(shifted * multiplier, 1 << 31)
        rounded = away(upper) if upper >= 0 or upper.denominator != 2 else int(upper)
        exact.append(away(Fraction(rounded, 1 << max(shift - 31, 0))))
    assert rescale_twice(torch.tensor(sums), [factor]).tolist() == exact


def test_two_roundings_have_a_factor_for_each_channel() -> None:
    sums = torch.arange(-6, 6).reshape(2, 2, 3) * 1000
    each = torch.stack([rescale_twice(sums[:, i], [factor]) for i, factor in enumerate((0.25, 0.003))], 1)
    assert torch.equal(rescale_twice(sums, [0.25, 0.003], 1), each)
