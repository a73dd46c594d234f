# SPDX-License-Identifier: BSD-3-Clause
"""3 x 3 convolutions that the delegate computes by Winograd's algorithm.

Tolerance: PyTorch sums products of numbers up to 1 in float32 in some order; the delegate sums products of their sums
and differences. Both have errors of about 2^-24 of the largest terms, together less than 1e-5 of the largest result.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.export import Dim, export

from sampling import examples
from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import to_edge_transform_and_lower
from sdk.runtime import Runtime


def run(model: nn.Module, image: torch.Tensor, *others: torch.Tensor, dynamic: object = None) -> None:
    """Lowers a model to one delegate, and compares its results for the image and other images with eager's."""
    shapes = None if dynamic is None else (dynamic,)
    lowered = to_edge_transform_and_lower(
        export(model.eval(), (image,), dynamic_shapes=shapes), partitioner=[XnnpackPartitioner()]
    )
    program = Runtime.get().load_program(lowered.to_executorch().buffer)
    method = program.load_method("forward")
    for each in (image, *others):
        with torch.no_grad():
            expected = model(each)
        (result,) = method.execute((each,))
        assert result.shape == expected.shape
        assert (result - expected).abs().max() <= 1e-5 * expected.abs().max()


class Padded(nn.Module):
    """A convolution and its activation, with zeros around the image that differ from side to side."""

    def __init__(self, channels: tuple[int, int], around: tuple[int, int, int, int], bias: bool, activation: nn.Module):
        super().__init__()
        self.around = around
        self.conv, self.activation = nn.Conv2d(*channels, 3, bias=bias), activation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.activation(self.conv(F.pad(x, self.around)))


@settings(max_examples=examples(20), deadline=None)
@given(
    batch=st.integers(1, 3),
    height=st.integers(9, 40),
    width=st.integers(9, 40),
    channels=st.tuples(st.integers(14, 70), st.integers(14, 70)),
    around=st.tuples(*[st.integers(0, 2)] * 4),
    bias=st.booleans(),
    activation=st.sampled_from([nn.Identity(), nn.ReLU(), nn.ReLU6()]),
)
def test_images_of_any_size(
    batch: int,
    height: int,
    width: int,
    channels: tuple[int, int],
    around: tuple[int, int, int, int],
    bias: bool,
    activation: nn.Module,
) -> None:
    torch.manual_seed(0)
    run(Padded(channels, around, bias, activation), torch.rand(batch, channels[0], height, width) * 2 - 1)


def test_sizes_that_change() -> None:
    """XNN-04"""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 24, 3))
    images = [torch.rand(1, 16, height, width) for height, width in ((48, 48), (5, 7), (48, 4), (24, 31))]
    run(model, *images, dynamic={2: Dim("height", min=4, max=48), 3: Dim("width", min=4, max=48)})


def test_layers_that_share_their_weights() -> None:
    torch.manual_seed(0)
    conv = nn.Conv2d(24, 24, 3, padding=1)
    run(nn.Sequential(conv, nn.ReLU(), conv, nn.AvgPool2d(2), conv), torch.rand(1, 24, 30, 30))
