# SPDX-License-Identifier: BSD-3-Clause
"""Functions at very small and very large values, where coremltools' converters add constants or overflow."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from lowering import FP16, FP32, lower
from torch.nn import functional

FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    name: getattr(torch, name) for name in ("log", "log2", "log10", "log1p", "rsqrt", "reciprocal", "asinh", "acosh")
}
LARGEST = torch.finfo(torch.float32).max


class Call(torch.nn.Module):
    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        return self.function(*tensors)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32(name: str) -> None:
    x = torch.tensor([0.0, -0.0, 1.0, -1.0, torch.inf, -torch.inf, torch.nan, 1e-30, 1e-6, 1.5, 3e38, -3e38, LARGEST])
    lowered = lower(Call(FUNCTIONS[name]), (x,), FP32)
    assert not lowered.outside, lowered.refusals
    torch.testing.assert_close(lowered.run(x)[0], FUNCTIONS[name](x), rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("precision", [FP32, FP16], ids=["float32", "float16"])
def test_angles(precision: object) -> None:
    """atan2 gives eager's angles for points on the axes, at the origin and at infinity."""
    numbers = torch.tensor([0.0, -0.0, 1.0, -1.0, torch.inf, -torch.inf, torch.nan, 2.5, -300.0])
    y, x = numbers[:, None].clone(), numbers
    lowered = lower(Call(torch.atan2), (y, x), precision)
    assert not lowered.outside, lowered.refusals
    torch.testing.assert_close(lowered.run(y, x)[0], torch.atan2(y, x), rtol=2e-3, atol=1e-3, equal_nan=True)


@pytest.mark.parametrize("name", ["log", "rsqrt", "asinh", "acosh"])
def test_float16(name: str) -> None:
    """Float16 has no number above 65504: the square of 300 is infinite."""
    x = torch.tensor([1.5, 6.0, 300.0, 60000.0])
    lowered = lower(Call(FUNCTIONS[name]), (x,), FP16)
    assert not lowered.outside, lowered.refusals
    torch.testing.assert_close(lowered.run(x)[0], FUNCTIONS[name](x), rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize(("precision", "gap"), [(FP32, 200.0), (FP16, 40.0)], ids=["float32", "float16"])
def test_log_softmax_of_improbable_classes(precision: object, gap: float) -> None:
    """Probabilities that are 0 in the precision, with finite logarithms."""
    x = torch.tensor([[0.0, gap, -gap, 1.0], [1.0, 2.0, 3.0, -gap]])
    lowered = lower(Call(lambda x: functional.log_softmax(x, 1)), (x,), precision)
    assert not lowered.outside, lowered.refusals
    torch.testing.assert_close(lowered.run(x)[0], functional.log_softmax(x, 1), rtol=2e-3, atol=5e-3)


def test_logcumsumexp_of_large_elements() -> None:
    x = torch.tensor([1.0, 200.0, 3.0])
    found = lower(Call(lambda x: torch.logcumsumexp(x, 0)), (x,), FP32).run(x)[0]
    torch.testing.assert_close(found, torch.logcumsumexp(x, 0))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_in_the_whole_tensor(name: str) -> None:
    """argmax and argmin without a dimension return an index in the flattened tensor; coremltools would use the last
    dimension."""
    torch.manual_seed(0)
    function, x = getattr(torch, name), torch.randn(3, 33)
    model = Call(lambda x: (function(x), function(x * 2, None, True), function(x - 1, 1)))
    lowered = lower(model, (x,), FP32)
    assert not lowered.outside, lowered.refusals
    for found, expected in zip(lowered.run(x), model(x), strict=True):
        assert found.shape == expected.shape and torch.equal(found, expected)
