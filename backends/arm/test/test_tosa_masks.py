# SPDX-License-Identifier: BSD-3-Clause
"""Softmax of int8 with masks, compared with PT2E's quantised model and with eager, including fully masked rows."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from arm_lowering import BOTH, INT, Call, Lowered, assert_close, lower
from test_tosa_integers import quantized, steps
from torch import Tensor
from torch.export import export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from sdk.backends.arm.quantizer import TOSAQuantizer, get_symmetric_quantization_config

LEAST = torch.finfo(torch.float32).min
_LEAST = torch.tensor(LEAST)
FINITE = (-1e4, -1e9, LEAST)
Form = Callable[[Tensor, Tensor], Tensor]


def _kept(columns: int, number: float = LEAST) -> Tensor:
    """Rows that keep everything, nothing, one column, all but one, and every second column. With minus infinity, each
    keeps its first column: the softmax of a fully masked row would be NaN, which observers refuse."""
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
    """Softmaxes of scores whose mask is computed from a condition that is an input."""
    kept = _kept(7, number)
    added = torch.zeros(kept.shape).masked_fill(~kept, number)
    forms: list[Form] = [
        lambda x, keep: torch.softmax((x * 2).add_(added), -1),
        lambda x, keep: torch.softmax(added[None, None] + x[1], -1),
        lambda x, keep: torch.softmax((x * 2).transpose(1, 2).masked_fill_(~keep.transpose(0, 1), number), 1),
        lambda x, keep: torch.softmax(torch.where(keep[..., :1], x, number), -1),
        lambda x, keep: torch.softmax(x + torch.where(keep, 0.0, number)[None], -1),
        lambda x, keep: F.softmax(x + (rest := 1.0 - keep.float()).masked_fill(rest.bool(), number), -1),
        lambda x, keep: torch.softmax(torch.max(x * 2 + added, _LEAST).view(10, 7), -1),
        lambda x, keep: torch.softmax((x * 2).masked_fill(~keep[:1], number).view(10, 7), 1),
        lambda x, keep: torch.softmax(torch.maximum(torch.where(keep, x, number), _LEAST)[:, None].flatten(1, 2), -1),
        lambda x, keep: torch.softmax((x + torch.where(keep, 0.0, number)).reshape(1, 10, 7).view(5, 2, 7), -1),
    ]
    return forms if number == -math.inf else [*forms, lambda x, keep: (x + (1.0 - keep.float()) * number).softmax(-1)]


class _Several(torch.nn.Module):
    def __init__(self, functions: list[Form]) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, x: Tensor, keep: Tensor) -> tuple[Tensor, ...]:
        return tuple(function(x, keep) for function in self.functions)


def _check(functions: list[Form], kept: Tensor) -> None:
    """Checks that results are at most a step from PT2E's model, whose scores are at most half a step from eager's."""
    torch.manual_seed(0)
    inputs = (torch.randn(2, *kept.shape) * 3, kept.clone())  # a copy: `kept` is a constant of the model
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
    """VGF-05: fully masked rows have equal probabilities, as in eager."""
    kept, left = _kept(columns), _kept(columns, -math.inf)
    _check([*(form for number in FINITE for form in _constant(kept, number)), *_constant(left, -math.inf)], kept)


@pytest.mark.sampled
@pytest.mark.parametrize("number", [*FINITE, -math.inf])
def test_computed_masks(number: float) -> None:
    """VGF-05: masks are recognised, too, if they are written in place, have more dimensions, or depend on an input."""
    _check(_computed(number), _kept(7, number))


_BIAS = torch.linspace(-2, 2, 35).reshape(5, 7)
_SLOPES = torch.where(torch.ones(5, 7, dtype=torch.bool).tril(), -0.3 * torch.arange(7.0), -1e9)
GIVEN: list[Form] = [
    lambda x, mask: torch.softmax(x * 2 @ x.transpose(1, 2) + mask, -1),
    lambda x, mask: torch.softmax(mask[None] + x @ x.transpose(1, 2), 2),
    lambda x, mask: (x @ x.transpose(1, 2) + mask[3]).softmax(-1),
    lambda x, mask: torch.softmax(x @ x.transpose(1, 2) + mask.T, 1),
    lambda x, mask: torch.softmax(x @ x.transpose(1, 2) + (_BIAS @ _BIAS.T + mask), -1),
    lambda x, mask: F.scaled_dot_product_attention(x, x, torch.tanh(x), attn_mask=mask.expand(2, 5, 5)),
    lambda x, mask: (y := x @ x.transpose(1, 2) + mask).softmax(-1) - y.softmax(1),
    lambda x, mask: torch.softmax(
        x @ x.transpose(1, 2) + torch.where(mask == 0, 0.0, torch.where(x[:, :1, :5] > 0, -1e4, -1e9)), -1
    ),
    lambda x, mask: torch.softmax(torch.max(x @ x.transpose(1, 2) + mask, _LEAST).view(10, 5), -1),
    lambda x, mask: torch.softmax((x @ x.transpose(1, 2) + mask[None]).view(10, 5).unflatten(0, (5, 2)), -1),
]
"""Softmaxes with a mask that is an input: broadcast in several ways, with a bias, in attention, in two softmaxes, as
the condition of another mask, and with a maximum or reshapes before the softmax."""


@pytest.mark.sampled
@pytest.mark.parametrize("number", [*FINITE, -math.inf])
def test_masks_that_are_inputs(number: float) -> None:
    """VGF-05: eager's probabilities, also for fully masked rows, and for masks that the calibration did not see."""
    torch.manual_seed(0)
    mask, x = torch.zeros(5, 5).masked_fill(~_kept(5, number), number), torch.randn(2, 5, 8) / 2
    model = _Several(GIVEN)
    converted = quantized(model, (x, mask), get_symmetric_quantization_config(), INT)
    lowered = lower(converted, (x, mask), INT)
    assert not any("softmax" in reason for reason in lowered.left().values()), lowered.left()
    for given in (mask, torch.zeros(5, 5), mask.flip(0).contiguous()):
        for found, expected in zip(lowered.run(x, given), model(x, given), strict=True):
            assert (found - expected).abs().max() < 0.03


@pytest.mark.sampled
@pytest.mark.parametrize("number", [*FINITE, -math.inf])
def test_scores_and_masks_that_are_inputs(number: float) -> None:
    """The quantizer cannot know which of the two inputs has the scores, so their sum is computed in floats."""
    torch.manual_seed(0)
    mask, x = torch.zeros(5, 7).masked_fill(~_kept(7, number), number), torch.randn(2, 5, 7)
    model = Call(lambda mask, x: torch.softmax(mask + x * 2, -1))
    lowered = lower(quantized(model, (mask, x), get_symmetric_quantization_config(), INT), (mask, x), INT)
    assert not any("softmax" in reason for reason in lowered.left().values()), lowered.left()
    assert_close(lowered.run(mask, x), model(mask, x), 0.02)


def test_attention_to_nothing() -> None:
    """A row of minus infinity attends to nothing, as in eager."""
    torch.manual_seed(0)
    mask, x = torch.zeros(5, 5).masked_fill(~_kept(5), -math.inf), torch.randn(2, 5, 8)
    model = Call(GIVEN[5])
    lowered = lower(quantized(model, (x, mask), get_symmetric_quantization_config(), INT), (x, mask), INT)
    (found,) = lowered.run(x, mask)
    assert not found[:, 1].any()
    assert_close([found], model(x, mask), 0.03)


def test_a_constant_of_masks_and_others() -> None:
    """A bias that falls with the distance, with a causal mask in it."""
    torch.manual_seed(0)
    x = torch.randn(2, 5, 8) / 2
    model = Call(lambda x: torch.softmax(x @ F.pad(x, (0, 0, 0, 2)).transpose(1, 2) + _SLOPES, -1))
    converted = quantized(model, (x,), get_symmetric_quantization_config(), INT)
    lowered = lower(converted, (x,), INT)
    assert len(lowered.payloads) == 1, lowered.left()
    assert_close(lowered.run(x), model(x), 0.03)


def test_the_edges_of_a_model_with_a_mask() -> None:
    """`set_io` leaves a mask in floats."""
    x, mask = torch.randn(2, 5, 8) / 2, torch.zeros(5, 5).masked_fill(~_kept(5), LEAST)
    model = Call(GIVEN[0])
    config = get_symmetric_quantization_config()
    prepared = prepare_pt2e(export(model, (x, mask)).module(), TOSAQuantizer(INT).set_global(config).set_io(config))
    prepared(x, mask)
    assert_close([convert_pt2e(prepared)(x, mask)], model(x, mask), 0.03)


def _attention(mask: Tensor) -> tuple[Lowered, tuple[Tensor, ...], Call, Call]:
    torch.manual_seed(0)
    inputs = (torch.randn(2, 3, 5, 8), torch.randn(2, 3, 7, 8))
    model = Call(lambda x, y: F.scaled_dot_product_attention(x, y, y + 1, attn_mask=mask))
    converted = quantized(model, inputs, get_symmetric_quantization_config(), INT)
    return lower(converted, inputs, INT), inputs, converted, model


@pytest.mark.sampled
@pytest.mark.parametrize("number", [-1e4, -1e9])
def test_attention(number: float) -> None:
    """In attention with an added finite mask, a fully masked row attends to all columns, as in eager."""
    lowered, inputs, converted, model = _attention(torch.zeros(5, 7).masked_fill(~_kept(7), number))
    assert len(lowered.payloads) == 1, lowered.left()
    steps(lowered, converted, inputs)
    assert_close(lowered.run(*inputs), converted(*inputs), 0.01)  # a step
    assert_close(lowered.run(*inputs), model(*inputs), 0.03)


def test_numbers_that_round_the_scores() -> None:
    """Adding -1e7 rounds float32 scores to integers. The softmax of a fully masked row depends on these roundings, so
    it is computed in floats; in other rows, the roundings have no effect."""
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
