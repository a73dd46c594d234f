# SPDX-License-Identifier: BSD-3-Clause
"""The factors of TOSA's RESCALE, against arithmetic in fractions."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.rescale import multiplier_and_shift

EXPONENTS = (0.4, 0, -1.2, -20.7, -31, -40.3, -46.5, -47.5, -50.1, -61.9, -62, -63.5, -200, -1074)
LARGEST_SUMS = {31: 1 << 31, 15: 1 << 47}  # of a multiplier's bits


@pytest.mark.parametrize("bits", [31, 15])
@pytest.mark.parametrize(
    "exponent", [0.4, 0, -1.2, -20.7, -31, -40.3, -46.5, -47.5, -50.1, -61.9, -62, -63.5, -200, -1074]
)
def test_every_factor_is_valid_and_near(bits: int, exponent: float) -> None:
    """TOSA 1.0, apply_scale: the multiplier is not negative, and the shift from 2 to 62. The product of the largest sum
    differs by less than the rounding of the multiplier, or of 2^-62, explains."""
    factor = 2.0**exponent
    multiplier, shift = multiplier_and_shift(factor, bits)
    assert 1 <= multiplier < 1 << bits and 2 <= shift <= 62
    difference = abs(Fraction(multiplier, 1 << shift) - Fraction(factor))
    assert difference <= max(Fraction(factor) / (1 << bits), Fraction(1, 1 << 62))
    if exponent < -49:
        for value in (LARGEST_SUMS[bits] - 1, -LARGEST_SUMS[bits]):
            assert (value * multiplier + (1 << (shift - 1))) >> shift == 0


@pytest.mark.parametrize("factor", [0.0, -1.0, float("inf"), float("nan"), 2.0**31])
def test_factors_that_rescale_has_not(factor: float) -> None:
    with pytest.raises(UnsupportedError, match="it rescales by"):
        multiplier_and_shift(factor, 31)
