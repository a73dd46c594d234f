# SPDX-License-Identifier: BSD-3-Clause
"""Convolutions with sizes around those of their tiles.

A thread computes up to 8 pixels of 16 channels on a CPU, and up to 4 on a GPU. Weights are stored in slices of 16
channels. `vulkan_replay` repeats the tests with the tiles and workgroups of GPUs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from eager import check
from hand_built import numbers
from test_replay import check_with_options
from torch import Tensor, nn
from torch.export import Dim

# (height, width), from one pixel to several workgroups.
IMAGES = ((1, 1), (2, 3), (3, 5), (4, 4), (5, 1), (6, 7), (7, 7), (9, 15), (16, 17), (3, 90))
IN_CHANNELS = (1, 3, 5, 64)
OUT_CHANNELS = (1, 4, 5, 17, 20, 33, 64)
KERNELS = ((3, 3), (1, 1), (2, 3), (5, 5), (3, 1), (7, 7))


def fits(image: tuple[int, int], kernel: tuple[int, int], padding: int, dilation: int) -> bool:
    return all(size + 2 * padding > dilation * (k - 1) for size, k in zip(image, kernel, strict=True))


def dense() -> dict[str, tuple[Any, tuple[Tensor, ...]]]:
    """Runs each image twice. Stride, channels, windows, padding and dilation change from one image to the next."""
    parts: dict[str, tuple[Any, tuple[Tensor, ...]]] = {}
    for number in range(2 * len(IMAGES)):
        image, stride = IMAGES[number % len(IMAGES)], 1 + number % 3
        groups = 2 if number % 5 == 4 else 1
        inputs, outputs = IN_CHANNELS[number % 4] * groups, OUT_CHANNELS[number % 7] * groups
        kernel, dilation = KERNELS[number * 5 % 6], 1 + number % 3 % 2
        padding = next(p for p in (number % 4, 3, 6) if fits(image, kernel, p, dilation))
        layer = nn.Conv2d(inputs, outputs, kernel, stride, padding, dilation, groups, bias=number % 4 != 1)
        module = nn.Sequential(layer, nn.ReLU()) if number % 3 == 0 else layer
        parts[f"{layer} of {image}"] = module, (numbers(1 + number % 2, inputs, *image),)
    return parts


def depthwise() -> dict[str, tuple[Any, tuple[Tensor, ...]]]:
    parts: dict[str, tuple[Any, tuple[Tensor, ...]]] = {}
    for number in range(2 * len(IMAGES)):
        image, kernel = IMAGES[number % len(IMAGES)], ((3, 3), (5, 5), (2, 3), (9, 1), (7, 7), (1, 3))[number % 6]
        channels, stride, dilation = (3, 5, 16)[number % 3], (1, 2, 1, 3)[number % 4], (1, 1, 1, 2, 1)[number % 5]
        padding = next(p for p in (number % 4, 3, 8) if fits(image, kernel, p, dilation))
        layer = nn.Conv2d(channels, channels * (1 + number % 2), kernel, stride, padding, dilation, channels)
        parts[f"{layer} of {image}"] = layer, (numbers(1 + number % 2, channels, *image),)
    return parts


def transposed() -> dict[str, tuple[Any, tuple[Tensor, ...]]]:
    parts: dict[str, tuple[Any, tuple[Tensor, ...]]] = {}
    for number, image in enumerate(IMAGES[::2]):
        groups, kernel, stride = 1 + number % 2, 2 + number % 3, 1 + number % 3
        layer = nn.ConvTranspose2d(
            5 * groups, OUT_CHANNELS[number % 7] * groups, kernel, stride, number % 2, number % stride, groups
        )
        parts[f"{layer} of {image}"] = layer, (numbers(2, 5 * groups, *image),)
    return parts


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
@pytest.mark.parametrize("family", [dense, depthwise, transposed])
def test_tiles(family: Any, half: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """VK-05"""
    torch.manual_seed(0)
    parts = family()
    if half:
        # A quarter of the images, with numbers that float16 can store.
        kept = list(parts.items())[1::4]
        parts = {name: (part, tuple(x.half().float() for x in inputs)) for name, (part, inputs) in kept}
    check_with_options(parts, ("least_threads=2",), tmp_path, monkeypatch, half)


def test_infinite_neighbours() -> None:
    """Pixels outside of the window have no influence: padding is not computed by multiplying by zero."""
    torch.manual_seed(0)
    x = numbers(1, 3, 9, 9)
    x[:, :, 0, 0], x[:, :, 8, 8], x[:, :, 4, 5] = float("inf"), float("nan"), float("-inf")
    check(nn.Sequential(nn.Conv2d(3, 3, 3, padding=1, groups=3), nn.Conv2d(3, 5, 3, padding=2, dilation=2)), (x,))
    check(nn.Conv2d(3, 20, 3, padding=1), (x,))


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_images_that_change(half: bool) -> None:
    """VK-02: the tile is chosen for each size; the weights do not change."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 20, 3, 1, 1),
        nn.ReLU(),
        nn.Conv2d(20, 20, 3, 1, 1, groups=20),
        nn.Conv2d(20, 37, 1),
        nn.Conv2d(37, 5, 3, 2, 2),
    )
    sizes = [(2, 24, 31), (1, 1, 1), (1, 7, 7), (2, 3, 17), (1, 24, 2)]
    dynamic = ({0: Dim("batch", min=1, max=2), 2: Dim("height", min=1, max=24), 3: Dim("width", min=1, max=31)},)
    check(model, *((numbers(n, 3, h, w),) for n, h, w in sizes[: 3 if half else 5]), half=half, dynamic=dynamic)
