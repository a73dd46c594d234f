# SPDX-License-Identifier: BSD-3-Clause
"""Kernels in which several threads share a sum, as on GPUs: `vulkan_replay` repeats the tests with the option
`least_threads`, because on lavapipe one thread computes a short sum. Long ones are shared there, too: lavapipe ends
the loops of a thread after 65535 iterations."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from eager import check, check_together
from hand_built import numbers
from test_device_payloads import VK, Call, bytes_of, integers
from test_replay import check_with_options
from torch import nn

# A part of a matrix product has at least 16 terms, and there are up to 16; of a norm or reduction 4, and up to 64.
DEPTHS = (31, 64, 130, 515)


def scales(*sizes: int) -> torch.Tensor:
    return numbers(*sizes).abs() * 0.01


def softmaxes(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return x[..., 0].softmax(-1), x.log_softmax(1), x[..., 1].masked_fill(x[..., 1] > 5, math.nan).softmax(-1)


def with_ties(*sizes: int) -> torch.Tensor:
    """Returns numbers with many equal ones, and a NaN in the last row."""
    x = (numbers(*sizes) * 4).round() / 4
    x[-1, sizes[1] // 2] = math.nan
    return x


def reductions(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Reductions over one dimension, over two that are not neighbours, and over all."""
    positive = y > 0
    return (
        *(f(x, -1) for f in (torch.sum, torch.mean, torch.amax, torch.amin, torch.argmax, torch.argmin)),
        *(f(y, (0, 2)) for f in (torch.sum, torch.mean, torch.amax)),
        *(x.var(-1), y.var((0, 1), correction=0), x.argmax()),
        *(positive.any(1), positive.all(1), positive.any(), (y != y).any(2)),
    )


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_shared_sums(half: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """VK-05: depths around the boundaries, with numbers of rows, columns and pixels that do not fill whole vectors or
    workgroups."""
    torch.manual_seed(0)
    parts: dict[str, tuple[Any, tuple[torch.Tensor, ...]]] = {}
    for index, depth in enumerate((33, 260) if half else DEPTHS):
        rows, columns = (1, 2, 5, 9)[index % 4], (1, 7, 64, 130, 260)[index % 5]
        parts[f"linear {depth}"] = nn.Linear(depth, columns), (numbers(rows, depth),)
        parts[f"norm {depth}"] = nn.LayerNorm(depth), (numbers(rows, depth),)
        parts[f"rms norm {depth}"] = nn.RMSNorm(depth), (numbers(rows, depth),)
        parts[f"softmax {depth}"] = softmaxes, (numbers(rows, depth, 2),)
        parts[f"reductions {depth}"] = reductions, (with_ties(rows, depth), with_ties(3, depth, rows))
        parts[f"group norm {depth}"] = nn.GroupNorm(2, 2 * rows), (numbers(2, 2 * rows, depth),)
        int8 = Call(VK.linear_q8csw, weights=integers(-127, 127, columns, depth), weight_scales=scales(columns))
        parts[f"int8 {depth}"] = int8, (numbers(rows, depth),)
        k, group = depth // 16 * 16, (16, 32)[index % 2 * (depth // 16 % 2 == 0)]
        packed = {"w": bytes_of(columns, k // 2), "s": scales(k // group, (columns + 7) // 8 * 8)}
        int4 = Call(lambda x, w, s, group=group: VK.linear_q4gsw(x, w, s, group), **packed)
        parts[f"int4 {depth}"] = int4, (numbers(rows, k),)
        parts[f"bmm {depth}"] = torch.bmm, (numbers(2, 11 - rows, depth), numbers(2, depth, columns))
        channels, height, width = (3, 4, 9, 18)[index % 4], (1, 3, 7)[index % 3], (1, 5, 15, 23)[index % 4]
        image = numbers(1 + index % 2, depth, height, width)
        parts[f"conv2d {depth}"] = nn.Conv2d(depth, channels, 3, padding=1, stride=1 + index % 2), (image,)
        parts[f"pointwise {depth}"] = nn.Sequential(nn.Conv2d(depth, channels, 1), nn.ReLU()), (image,)
        parts[f"transposed {depth}"] = nn.ConvTranspose2d(depth, channels, 2, 2), (image[:, :, :1, :4],)
        grouped = numbers(1, 2 * depth, 2, width)
        parts[f"grouped {depth}"] = nn.Conv2d(2 * depth, 10, (1, 3), padding=(0, 1), groups=2), (grouped,)
    parts = {name: (part, tuple(x.half().float() for x in inputs)) for name, (part, inputs) in parts.items()}
    check_with_options(parts, ("least_threads=4096", "least_threads=1000000"), tmp_path, monkeypatch, half)


def test_long_sums() -> None:
    """VK-05: sums that are longer than lavapipe's loops, separately and together with others."""
    torch.manual_seed(0)
    linear = nn.Linear(70001, 3)
    linear.weight.data *= 10
    check_together(
        {
            "softmax": (softmaxes, (numbers(1, 70001, 2),)),
            "reductions": (reductions, (with_ties(2, 70001), with_ties(2, 181, 183))),
            "layer norm": (nn.LayerNorm((3, 224, 224)), (numbers(1, 3, 224, 224),)),
            "global pool": (nn.AdaptiveAvgPool2d(1), (numbers(1, 2, 300, 301) + 1,)),
            "linear": (linear, (numbers(1, 70001),)),
            "conv2d": (nn.Conv2d(900, 2, 9), (numbers(1, 900, 9, 10),)),
        }
    )


def test_a_loop_that_the_driver_would_end_is_refused() -> None:
    """A single thread computes a window of a max pool."""
    with pytest.raises(RuntimeError, match=r"its loops repeat 90300 times, and the driver 'llvmpipe .*' may end them"):
        check(nn.MaxPool2d(300), (numbers(1, 1, 300, 300),))


def test_sums_of_nothing() -> None:
    x = torch.zeros(0, 3)
    check(lambda x: (x.sum(0), x.mean(0), (x > 0).any(), (x > 0).all(0), (x > 0).any(0), x.var(0), x.sum(1)), (x,))
