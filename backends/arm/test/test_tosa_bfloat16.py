# SPDX-License-Identifier: BSD-3-Clause
"""bfloat16 with the extension of that name: every operator computes in float32 and rounds once, as PyTorch does."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from arm_lowering import FP, Call, assert_close, lower
from torch import Tensor, nn

BF16 = f"{FP}+bf16"
IMAGE, ROWS = (2, 4, 7, 6), (3, 5, 8)
HALF_A_STEP = 2.0**-8
"""Relative to a number's size: bfloat16 has 8 significant bits."""

torch.manual_seed(0)
MODELS: dict[str, tuple[nn.Module, tuple[tuple[int, ...], ...]]] = {
    "linear": (nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 4)), (ROWS,)),
    "convolution": (nn.Sequential(nn.Conv2d(4, 6, 3, 2, 1), nn.Hardswish(), nn.AvgPool2d(2)), (IMAGE,)),
    "depthwise": (nn.Sequential(nn.Conv2d(4, 4, 3, groups=4), nn.MaxPool2d(2)), (IMAGE,)),
    "norms": (nn.Sequential(nn.LayerNorm(8), nn.GELU(), nn.Softmax(-1)), (ROWS,)),
    "arithmetic": (Call(lambda x, y: torch.sigmoid(x) * y - x / (y.abs() + 1)), (ROWS, ROWS)),
    "comparisons": (Call(lambda x, y: torch.where(x > y, x, y * 2) + (x >= 0.5).to(x.dtype)), (ROWS, ROWS)),
    "moves": (Call(lambda x: torch.cat([x.permute(0, 2, 1)[:, 1:4], x.flip(1).transpose(1, 2)], 1) * 1), (ROWS,)),
    "reductions": (Call(lambda x: x.sum(1) + x.amax(1) + x.mean(1)), (ROWS,)),
    "conversions": (Call(lambda x: (x * 3).int().to(torch.bfloat16) + x.float().to(torch.bfloat16)), (ROWS,)),
    "products": (Call(lambda x, y: torch.bmm(x, y.transpose(1, 2))), (ROWS, ROWS)),
    "resizing": (Call(lambda x: F.interpolate(x, size=(14, 12), mode="bilinear")), (IMAGE,)),
}


def _inputs(shapes: tuple[tuple[int, ...], ...]) -> tuple[Tensor, ...]:
    return tuple(torch.randn(shape).bfloat16() for shape in shapes)


@pytest.mark.parametrize("name", MODELS)
def test_models_in_bfloat16(name: str) -> None:
    """Whole models are delegated. The results equal eager's, up to the rounding of eager's sums."""
    model, shapes = MODELS[name]
    model, inputs = model.bfloat16().eval(), _inputs(shapes)
    lowered = lower(model, inputs, BF16)
    assert lowered.left() == {}
    expected = model(*inputs)
    assert expected.dtype == torch.bfloat16
    assert_close(lowered.run(*inputs), expected, 4 * HALF_A_STEP)


def test_one_operator_rounds_as_eager() -> None:
    """Bit for bit: float32 has more than twice the digits of bfloat16, so that sums and products round once."""
    inputs = _inputs(((64, 64), (64, 64)))
    for function in (torch.add, torch.mul, torch.maximum):
        found = lower(Call(function), inputs, BF16).run(*inputs)
        assert torch.equal(found[0], function(*inputs))


@pytest.mark.parametrize(
    ("spec", "function", "reason"),
    [
        (FP, lambda x: x + x, r"bfloat16, which TOSA has with the extension \+bf16, not in TOSA-1.0\+FP"),
        (BF16, lambda x: x.double().sin(), "float64, which TOSA 1.0 does not have"),
    ],
)
def test_what_stays_outside(spec: str, function: Any, reason: str) -> None:
    """Operators without the extension, and those that no extension supports, stay outside."""
    lowered = lower(Call(function), _inputs((ROWS,)), spec)
    assert not lowered.payloads
    assert any(re.search(reason, each) for each in lowered.left().values()), lowered.left()
