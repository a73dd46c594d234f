# SPDX-License-Identifier: BSD-3-Clause
"""Convolutions whose window is larger than their image: the program has only the weights that meet the image."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim, export
from xnnpack_payloads import graphs

from sdk.backends.xnnpack.operators.taps import Taps
from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import EdgeProgramManager, to_edge_transform_and_lower
from sdk.runtime import Runtime

Numbers = tuple[int, int, int, int, int]
"""Size, window, stride, padding and dilation."""


def places(size: int, window: int, stride: int, before: int, after: int, dilation: int) -> list[list[int | None]]:
    """For each result the rows of the image that the window meets, None for padding."""
    count = (size + before + after - dilation * (window - 1) - 1) // stride + 1
    rows = ([i * stride + k * dilation - before for k in range(window)] for i in range(count))
    return [[row if 0 <= row < size else None for row in each] for each in rows]


def numbers() -> list[Numbers]:
    every = itertools.product(range(1, 8), range(1, 6), range(1, 4), range(7), range(1, 5))
    return [each for each in every if each[0] + 2 * each[3] > each[4] * (each[1] - 1)]


def test_every_result_meets_the_same_rows() -> None:
    for size, window, stride, padding, dilation in numbers():
        whole = places(size, window, stride, padding, padding, dilation)
        taps = Taps.of(size, window, stride, padding, dilation)
        assert taps.before >= 0 and taps.after >= 0
        part = places(size, taps.end - taps.first, stride, taps.before, taps.after, dilation)
        assert [row[taps.first : taps.end] for row in whole] == part
        outside = (tap for row in whole for tap in (*row[: taps.first], *row[taps.end :]))
        assert all(tap is None for tap in outside)


@pytest.mark.parametrize(
    ("case", "left"),
    [
        ((14, 3, 1, 24, 24), 1),
        ((14, 3, 1, 36, 36), 1),
        ((14, 3, 1, 13, 13), 3),
        ((14, 3, 1, 14, 14), 1),
        ((1, 3, 1, 1, 1), 1),
        ((2, 5, 2, 2, 1), 2),
        ((3, 7, 1, 3, 1), 5),
        ((14, 3, 1, 12, 12), 3),
    ],
)
def test_how_much_is_left(case: Numbers, left: int) -> None:
    taps = Taps.of(*case)
    assert taps.end - taps.first == left


def lower(model: nn.Module, inputs: tuple[torch.Tensor, ...], shapes: Any = None) -> EdgeProgramManager:
    with torch.no_grad():
        exported = export(model.eval(), inputs, dynamic_shapes=shapes)
    return to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])


def convolutions(lowered: EdgeProgramManager) -> list[Any]:
    """The convolutions of the only payload."""
    (graph,) = graphs(lowered)
    return [node.xnode_union for node in graph.xnodes if hasattr(node.xnode_union, "kernel_height")]


def check(model: nn.Module, lowered: EdgeProgramManager, *images: torch.Tensor) -> None:
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    for image in images:
        with torch.no_grad():
            torch.testing.assert_close(method.execute((image,))[0], model(image), rtol=1e-5, atol=1e-5)


CONVOLUTIONS: dict[str, tuple[nn.Module, tuple[int, int], tuple[int, int]]] = {
    "dilated": (nn.Conv2d(24, 9, 3, padding=24, dilation=24), (14, 14), (1, 1)),
    "two columns of three": (nn.Conv2d(24, 9, 3, stride=9, padding=12, dilation=12), (8, 14), (1, 2)),
    "rows only": (nn.Conv2d(5, 7, 3, padding=(20, 1), dilation=(20, 1)), (14, 14), (1, 3)),
    "of one pixel": (nn.Conv2d(16, 8, 3, padding=1, bias=False), (1, 1), (1, 1)),
    "with a stride": (nn.Conv2d(3, 8, 5, stride=2, padding=2), (2, 3), (2, 5)),
    "in groups": (nn.Conv2d(6, 8, 3, padding=30, dilation=30, groups=2), (9, 31), (1, 3)),
    "depthwise": (nn.Conv2d(19, 19, 3, padding=17, dilation=17, groups=19), (16, 17), (1, 1)),
    "wide depthwise": (nn.Conv2d(19, 19, 7, padding=3, groups=19), (3, 14), (5, 7)),
    "batch norm": (nn.Sequential(nn.Conv2d(4, 6, 3, padding=18, dilation=18), nn.BatchNorm2d(6)), (8, 9), (1, 1)),
    "transposed": (nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1), (1, 1), (3, 3)),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_of_small_images(name: str) -> None:
    torch.manual_seed(0)
    model, size, window = CONVOLUTIONS[name]
    channels = next(part for part in model.modules() if isinstance(part, (nn.Conv2d, nn.ConvTranspose2d))).in_channels
    image = torch.randn(2, channels, *size)
    lowered = lower(model, (image,))
    (convolution,) = convolutions(lowered)
    assert (convolution.kernel_height, convolution.kernel_width) == window
    check(model, lowered, image)


def test_the_whole_window_is_kept_for_images_whose_size_is_not_known() -> None:
    torch.manual_seed(0)
    model, image = nn.Conv2d(4, 6, 3, padding=12, dilation=12), torch.randn(1, 4, 9, 9)
    lowered = lower(model, (image,), {"input": {2: Dim("h", min=1, max=33), 3: Dim("w", min=1, max=33)}})
    (convolution,) = convolutions(lowered)
    assert (convolution.kernel_height, convolution.kernel_width) == (3, 3)
    check(model, lowered, image, torch.randn(1, 4, 1, 33), torch.randn(1, 4, 33, 1))
