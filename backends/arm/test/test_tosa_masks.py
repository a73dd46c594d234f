# SPDX-License-Identifier: BSD-3-Clause
"""Softmax of int8 with masks, beside PT2E's quantised model and beside eager: also rows of which nothing is left."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from arm_lowering import BOTH, INT, Call, Lowered, assert_close, lower
from test_tosa_integers import quantized, steps
from torch import Tensor

from sdk.backends.arm.quantizer import get_symmetric_quantization_config

LEAST = torch.finfo(torch.float32).min
FINITE = (-1e4, -1e9, LEAST)
Form = Callable[[Tensor, Tensor], Tensor]


def _kept(columns: int, number: float = LEAST) -> Tensor:
    """Rows that keep everything, nothing, one column, all but one, and every second column. With minus infinity, each
    keeps its first: in floats, the shares of nothing else are no numbers, and observers refuse these."""
    kept = torch.ones(5, columns, dtype=torch.bool)
    kept[1] = False
    kept[2, 1:] = False
    kept[3, -1] = False
    kept[4, ::2] = False
    kept[:, 0] |= number == -math.inf
    return kept


def _constant(kept: Tensor, number: float) -> list[Form]:
    added = torch.zeros(kept.shape).masked_fill(~kept, number)
    return [
        lambda x, keep: torch.softmax(x + added, -1),
        lambda x, keep: torch.softmax(x.masked_fill(~kept, number), -1),
    ]


def _computed(number: float) -> list[Form]:
    """Of scores and a condition that is an input."""
    kept = _kept(7, number)
    added = torch.zeros(kept.shape).masked_fill(~kept, number)
    forms: list[Form] = [
        lambda x, keep: torch.softmax((x * 2).add_(added), -1),
        lambda x, keep: torch.softmax(added[None, None] + x[1], -1),
        lambda x, keep: torch.softmax((x * 2).transpose(1, 2).masked_fill_(~keep.transpose(0, 1), number), 1),
        lambda x, keep: torch.softmax(torch.where(keep[..., :1], x, number), -1),
        lambda x, keep: torch.softmax(x + torch.where(keep, 0.0, number)[None], -1),
        lambda x, keep: F.softmax(x + (rest := 1.0 - keep.float()).masked_fill(rest.bool(), number), -1),
    ]
    return forms if number == -math.inf else [*forms, lambda x, keep: (x + (1.0 - keep.float()) * number).softmax(-1)]


class _Several(torch.nn.Module):
    def __init__(self, functions: list[Form]) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, x: Tensor, keep: Tensor) -> tuple[Tensor, ...]:
        return tuple(function(x, keep) for function in self.functions)


def _check(functions: list[Form], kept: Tensor) -> None:
    """At most a step from PT2E's model, whose scores are at most half a step from those of eager."""
    torch.manual_seed(0)
    inputs = (torch.randn(2, *kept.shape) * 3, kept.clone())  # a constant that is an input would be the input
    model = _Several(functions)
    converted = quantized(model, inputs, get_symmetric_quantization_config(), INT)
    lowered = lower(converted, inputs, INT)
    assert len(lowered.payloads) == 1, lowered.left()
    assert not any("softmax" in reason for reason in lowered.left().values()), lowered.left()
    assert steps(lowered, converted, inputs) <= 1
    for found, eager in zip(lowered.run(*inputs), model(*inputs), strict=True):
        assert (found - eager).abs().max() < 0.02


@pytest.mark.sampled
@pytest.mark.parametrize("columns", [1, 2, 7, 16, 197])
def test_constant_masks(columns: int) -> None:
    """VGF-05: rows of which nothing is left have equal shares, as in eager."""
    kept, left = _kept(columns), _kept(columns, -math.inf)
    _check([*(form for number in FINITE for form in _constant(kept, number)), *_constant(left, -math.inf)], kept)


@pytest.mark.sampled
@pytest.mark.parametrize("number", [*FINITE, -math.inf])
def test_computed_masks(number: float) -> None:
    """VGF-05: also masks that are written in place, that have more dimensions, or that an input decides."""
    _check(_computed(number), _kept(7, number))


def _attention(mask: Tensor) -> tuple[Lowered, tuple[Tensor, ...], Call, Call]:
    torch.manual_seed(0)
    inputs = (torch.randn(2, 3, 5, 8), torch.randn(2, 3, 7, 8))
    model = Call(lambda x, y: F.scaled_dot_product_attention(x, y, y + 1, attn_mask=mask))
    converted = quantized(model, inputs, get_symmetric_quantization_config(), INT)
    return lower(converted, inputs, INT), inputs, converted, model


@pytest.mark.sampled
@pytest.mark.parametrize("number", [-1e4, -1e9])
def test_attention(number: float) -> None:
    """A mask that is added: a row that it takes out as a whole attends to everything, as in eager."""
    lowered, inputs, converted, model = _attention(torch.zeros(5, 7).masked_fill(~_kept(7), number))
    assert len(lowered.payloads) == 1, lowered.left()
    steps(lowered, converted, inputs)
    assert_close(lowered.run(*inputs), converted(*inputs), 0.01)  # a step
    assert_close(lowered.run(*inputs), model(*inputs), 0.03)


def test_numbers_that_round_the_scores() -> None:
    """Float32 sums with -1e7 are whole numbers. A row of nothing else has their shares, which floats compute; beside
    other scores, -1e7 takes out."""
    x = torch.randn(2, 5, 7) * 3
    for rows, is_lowered in ((slice(0, 2), False), (slice(2, 5), True)):
        mask = torch.zeros(5, 7).masked_fill(~_kept(7), -1e7)[rows]
        converted = quantized(
            Call(lambda x, mask=mask: torch.softmax(x + mask, -1)),
            (x[:, rows],),
            get_symmetric_quantization_config(),
            INT,
        )
        lowered = lower(converted, (x[:, rows],), INT)
        assert bool(lowered.payloads) == is_lowered
        if not is_lowered:
            assert any("which rounds the scores in float32" in reason for reason in lowered.left().values())
            lowered = lower(converted, (x[:, rows],), BOTH)
            assert lowered.operators["EXP"] > 0
        assert_close(lowered.run(x[:, rows]), converted(x[:, rows]), 0.005)
