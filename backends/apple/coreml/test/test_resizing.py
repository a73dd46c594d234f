# SPDX-License-Identifier: BSD-3-Clause
"""Bilinear resizing to sizes that are not multiples, and with a filter."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from lowering import FP32, difference, lower
from torch.nn import functional


class Resize(torch.nn.Module):
    """`functional.interpolate` with fixed options."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.interpolate(x, mode="bilinear", **self.options)


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("size", [(16, 17), (4, 5), (16, 18), (1, 1)], ids=str)
def test_sizes(size: tuple[int, int], align_corners: bool) -> None:
    """Core ML resizes by the exact scale: one that is too large by 0.0001 / 8 would change the fifth digit of
    results."""
    torch.manual_seed(0)
    model, x = Resize(size=size, align_corners=align_corners), torch.randn(1, 3, 8, 9)
    lowered = lower(model, (x,), FP32)
    assert not lowered.outside, lowered.refusals
    assert difference(lowered.run(x), model(x)) <= 2e-6


def test_a_filter_stays_with_kernels() -> None:
    model, x = Resize(size=(4, 5), antialias=True), torch.randn(1, 3, 9, 9)
    lowered = lower(model, (x,), FP32)
    assert lowered.outside == ["aten._upsample_bilinear2d_aa.default"]
    assert "antialias" in str(lowered.refusals)
