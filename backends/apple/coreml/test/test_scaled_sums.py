# SPDX-License-Identifier: BSD-3-Clause
"""Sums and differences with the factor `alpha`, which coremltools' converter ignores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from lowering import FP32, difference, lower

SUMS: dict[str, Callable[..., torch.Tensor]] = {"add": torch.add, "sub": torch.sub, "rsub": torch.rsub}


class Sums(torch.nn.Module):
    """The sum of two tensors, and of a tensor and a number."""

    def __init__(self, function: Callable[..., torch.Tensor], alpha: Any) -> None:
        super().__init__()
        self.function, self.alpha = function, alpha

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.function(x, y, alpha=self.alpha), self.function(x, 3, alpha=self.alpha)


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize(
    ("alpha", "dtype"), [(2, torch.float32), (-0.5, torch.float32), (1, torch.float32), (3, torch.int32)]
)
@pytest.mark.parametrize("shape", [(), (2, 3)], ids=str)
def test_the_factor_counts(name: str, alpha: Any, dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    model = Sums(SUMS[name], alpha)
    inputs = tuple((torch.randn(shape) * 10).to(dtype) for _ in range(2))
    lowered = lower(model, inputs, FP32)
    assert not lowered.outside, lowered.refusals
    assert difference(lowered.run(*inputs), model(*inputs)) <= 1e-5
