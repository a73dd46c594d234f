# SPDX-License-Identifier: BSD-3-Clause
"""TOSA graphs for an Ethos-U55: the operators that take little time there, and numbers that are as exact as on other
targets."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from arm_lowering import Call, Lowered, lower
from ethos_u_model import quantized
from test_tosa_integers import steps
from torch import Tensor, nn

from sdk.backends.arm.ethosu import EthosUCompileSpec

SPEC = EthosUCompileSpec("ethos-u55-128")


def _lowered(model: Any, *inputs: Tensor) -> tuple[Lowered, Any]:
    converted = quantized(model if isinstance(model, nn.Module) else Call(model), inputs, SPEC)
    found = lower(converted, inputs, str(SPEC.tosa_spec))
    assert len(found.payloads) == 1, found.left()
    return found, converted


def _scores(rows: int, size: int) -> Tensor:
    """Random scores; in the first two rows one score is far above the others, or all are equal."""
    scores = torch.randn(rows, size) * 3
    scores[0] = -12
    scores[0, size // 2] = 12
    scores[1] = 0
    return scores


@pytest.mark.parametrize(
    ("rows", "size", "tables"), [(2, 2, 2), (8, 32, 2), (3, 33, 3), (9, 32, 1), (5, 64, 1), (4, 65, 3), (2, 300, 3)]
)
def test_softmax(rows: int, size: int, tables: int) -> None:
    """One step from the softmax of floats at most, with as few tables as this needs; one more table has reciprocals."""
    torch.manual_seed(size)
    for function in (torch.softmax, torch.log_softmax):
        scores = _scores(rows, size)
        lowered, converted = _lowered(lambda x, function=function: function(x, -1), scores)
        assert steps(lowered, converted, (scores,)) <= 1
        assert function is torch.log_softmax or lowered.operators["TABLE"] == tables + 1


def test_means_that_keep_the_scale_are_pools() -> None:
    """A pool over the image keeps the scale. A mean has its own scale, with which it is more exact: a convolution."""
    image = (torch.randn(1, 8, 9, 7),)
    for last, operator in (
        (nn.AdaptiveAvgPool2d(1), "AVG_POOL2D"),
        (Call(lambda x: x.mean((2, 3))), "DEPTHWISE_CONV2D"),
    ):
        lowered, converted = _lowered(nn.Sequential(nn.Conv2d(8, 6, 3), nn.ReLU(), last), *image)
        assert lowered.operators[operator] == 1 and lowered.operators["REDUCE_SUM"] == 0
        assert steps(lowered, converted, image) <= 1


def test_a_product_with_a_number_is_a_rescale() -> None:
    """If the number is positive, which RESCALE requires."""
    inputs = (torch.randn(3, 17),)
    for number, count in ((0.3, 0), (-0.3, 1)):
        for product in (lambda x, number=number: x * number, lambda x, number=number: number * x):
            lowered, converted = _lowered(product, *inputs)
            assert lowered.operators["MUL"] == count
            assert steps(lowered, converted, inputs) <= 1
