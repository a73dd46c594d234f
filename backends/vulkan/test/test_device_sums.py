# SPDX-License-Identifier: BSD-3-Clause
"""Kernels whose sums threads share, as they do on GPUs: `vulkan_replay` repeats the tests with the option
`least_threads`, because on lavapipe one thread computes a sum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hand_built import numbers
from test_device_payloads import VK, Call, bytes_of, integers
from test_replay import check_with_options
from torch import nn

# A part of a sum has at least 16 terms, of a norm 4, and there are up to 16 parts, of a norm 64.
DEPTHS = (31, 64, 130, 515)


def scales(*sizes: int) -> torch.Tensor:
    return numbers(*sizes).abs() * 0.01


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_shared_sums(half: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """VK-05: depths around the boundaries, with numbers of rows, columns and pixels that fill no vectors and
    workgroups."""
    torch.manual_seed(0)
    parts: dict[str, tuple[Any, tuple[torch.Tensor, ...]]] = {}
    for index, depth in enumerate((33, 260) if half else DEPTHS):
        rows, columns = (1, 2, 5, 9)[index % 4], (1, 7, 64, 130, 260)[index % 5]
        parts[f"linear {depth}"] = nn.Linear(depth, columns), (numbers(rows, depth),)
        parts[f"norm {depth}"] = nn.LayerNorm(depth), (numbers(rows, depth),)
        parts[f"rms norm {depth}"] = nn.RMSNorm(depth), (numbers(rows, depth),)
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
