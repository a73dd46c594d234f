# SPDX-License-Identifier: BSD-3-Clause
"""Convolutions of images with few channels, which a step of the delegate computes instead of an XNNPACK operator.

Tolerance: for floats as in test_winograd.py; for int8 one step of the output, see test_int8_models.py.
"""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_int8_models import steps_of
from test_quantized import lower, quantize
from test_winograd import run
from torch import nn
from torch.export import Dim

from sampling import examples
from sdk.runtime import Runtime

PAIRS = st.tuples(st.integers(1, 7), st.integers(1, 7))


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[nn.Conv2d, torch.Tensor]:
    """A convolution and an image that is not too small for it."""
    channels, results = draw(st.integers(1, 8)), draw(st.integers(1, 40))
    window, stride = draw(PAIRS), draw(PAIRS)
    padding = tuple(draw(st.integers(0, side)) for side in window)
    dilation = (draw(st.integers(1, 2)), draw(st.sampled_from([1, 1, 2])))
    size = [draw(st.integers(dilation[i] * (window[i] - 1) + 1, 30)) for i in range(2)]
    torch.manual_seed(draw(st.integers(0, 99)))
    conv = nn.Conv2d(channels, results, window, stride, padding, dilation, bias=draw(st.booleans()))
    return conv, torch.rand(draw(st.integers(1, 2)), channels, *size) * 2 - 1


@settings(max_examples=examples(25), deadline=None)
@given(convolutions(), st.sampled_from([nn.Identity(), nn.ReLU6()]))
def test_floats(made: tuple[nn.Conv2d, torch.Tensor], activation: nn.Module) -> None:
    conv, image = made
    run(nn.Sequential(conv, activation), image)


@torch.no_grad()
@settings(max_examples=examples(25), deadline=None)
@given(convolutions(), st.sampled_from([nn.Identity(), nn.ReLU()]))
def test_int8(made: tuple[nn.Conv2d, torch.Tensor], activation: nn.Module) -> None:
    conv, image = made
    quantized = quantize(nn.Sequential(conv, activation), (image,), is_per_channel=True)
    method = Runtime.get().load_program(lower(quantized, (image,)).to_executorch().buffer).load_method("forward")
    (result,), reference, (step,) = method.execute((image,)), quantized(image), steps_of(quantized)
    assert result.shape == reference.shape
    assert step is not None
    assert float((result - reference).abs().max()) <= 1.01 * step


def test_sizes_that_change() -> None:
    """XNN-04"""
    torch.manual_seed(0)
    images = [torch.rand(1, 3, height, width) for height, width in ((48, 48), (5, 7), (48, 4), (24, 31))]
    model = nn.Sequential(nn.Conv2d(3, 24, 5, 2, padding=2), nn.ReLU())
    run(model, *images, dynamic={2: Dim("height", min=4, max=48), 3: Dim("width", min=4, max=48)})
