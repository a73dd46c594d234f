# SPDX-License-Identifier: BSD-3-Clause
"""Convolutions over depth, height and width, which are computed as convolutions of images whose channels are the slices
of a window, compared with PyTorch eager."""

from __future__ import annotations

import pytest
import torch
from test_lowering import Call, check, lower
from torch import nn
from torch.export import Dim

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir.backend.utils import get_non_lowered_nodes

LAYERS = {
    "plain": (nn.Conv3d(6, 8, 3, padding=1), (5, 9, 10)),
    "strided": (nn.Conv3d(6, 4, 3, stride=(2, 1, 3), padding=(1, 0, 2), bias=False), (6, 7, 8)),
    "dilated": (nn.Conv3d(6, 4, (3, 2, 3), dilation=(2, 3, 1), padding=(2, 1, 1)), (5, 9, 7)),
    "of one slice": (nn.Conv3d(6, 20, (1, 3, 3), padding=(0, 1, 1)), (4, 8, 8)),
    "of every second slice": (nn.Conv3d(6, 20, 1, stride=2), (5, 8, 8)),
    "over depth only": (nn.Conv3d(6, 20, (3, 1, 1), padding=(1, 0, 0)), (4, 6, 7)),
    "Winograd's": (nn.Conv3d(20, 33, 3, padding=1), (3, 20, 21)),
    "few channels": (nn.Conv3d(2, 8, (3, 7, 7), stride=(1, 2, 2), padding=(1, 3, 3)), (4, 30, 31)),
    "windows beside the volume": (nn.Conv3d(64, 16, 3, dilation=6, padding=6), (4, 8, 9)),
    "one voxel": (nn.Conv3d(6, 4, 3, padding=1), (1, 1, 1)),
    "to one slice": (nn.Conv3d(6, 4, (4, 3, 3)), (4, 5, 6)),
}


@pytest.mark.sampled
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("batch", [1, 3])
def test_layers(layer: str, batch: int) -> None:
    """XNN-14: convolutions with different windows give eager's results in one delegate."""
    module, sizes = LAYERS[layer]
    inputs = (torch.randn(batch, module.in_channels, *sizes),)
    lowered = lower(module, inputs)
    assert not get_non_lowered_nodes(lowered.exported_program().graph)
    check(module, inputs, lowered=lowered)


class Block(nn.Module):
    """A block of a video network: a residual of convolutions with batch norms, a separate norm, and a mean."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv3d(5, 5, 3, padding=1), nn.Conv3d(5, 5, (1, 3, 3), padding=(0, 1, 1))
        self.norms = nn.ModuleList(nn.BatchNorm3d(5) for _ in range(3))
        for norm in self.norms:
            nn.init.uniform_(norm.running_mean)
            nn.init.uniform_(norm.running_var, 0.5, 2)
            nn.init.uniform_(norm.weight)
            nn.init.uniform_(norm.bias)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.norms[0](self.first(x)).relu()
        y = self.norms[2]((self.norms[1](self.second(y)) + x).relu()) * 2.0
        # The shapes differ, so the slices are not added as images.
        scaled = y * y.amax((3, 4), keepdim=True)
        return scaled + x[:, :, :1], scaled.mean((2, 3, 4))


def test_what_lies_between_volumes_of_a_network() -> None:
    inputs = (torch.randn(2, 5, 4, 6, 7),)
    model = Block().eval()
    lowered = lower(model, inputs)
    left = {node.target.__name__ for node in get_non_lowered_nodes(lowered.exported_program().graph)}
    assert left <= {"aten.amax.default"}
    check(model, inputs, lowered=lowered)


def test_the_batch_may_be_dynamic() -> None:
    model = nn.Sequential(nn.Conv3d(6, 8, 3, padding=1), nn.ReLU(), nn.Conv3d(8, 4, 3, stride=2))
    lowered = lower(model, (torch.randn(2, 6, 5, 7, 8),), dynamic_shapes=({0: Dim("batch", min=1, max=5)},))
    assert not get_non_lowered_nodes(lowered.exported_program().graph)
    check(model, *((torch.randn(batch, 6, 5, 7, 8),) for batch in (5, 1, 3)), lowered=lowered)


class Scaled(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x * 1.5, x / 1.5, torch.maximum(x, y), x / y


def test_numbers_and_volumes_of_any_depth() -> None:
    """Volumes of any depth are divided by a number and by each other."""
    depth = {2: Dim("depth", min=2, max=9)}
    inputs = [tuple(torch.rand(2, 3, n, 5, 4) + 0.5 for _ in range(2)) for n in (7, 2, 9)]
    lowered = lower(Scaled(), inputs[0], dynamic_shapes=(depth, depth))
    assert not get_non_lowered_nodes(lowered.exported_program().graph)
    check(Scaled(), *inputs, lowered=lowered)


@pytest.mark.parametrize(
    "layer",
    [nn.Conv3d(6, 6, 3, groups=2), nn.ConvTranspose3d(6, 4, 3)],
)
def test_what_is_not_taken_stays_right(layer: nn.Module) -> None:
    inputs = (torch.randn(1, 6, 5, 6, 7),)
    model = nn.Sequential(layer, nn.BatchNorm3d(layer.out_channels), Call(torch.relu)).eval()
    lowered = lower(model, inputs)
    left = {node.target.__name__ for node in get_non_lowered_nodes(lowered.exported_program().graph)}
    assert left == {"aten.convolution.default"}
    check(model, inputs, lowered=lowered)


def test_compatible_programs_have_none() -> None:
    """The original has no convolution of volumes, so with `compat` it stays outside."""
    inputs = (torch.randn(1, 6, 4, 6, 7),)
    model = nn.Sequential(nn.Conv3d(6, 4, 3), nn.BatchNorm3d(4), nn.ReLU()).eval()
    lowered = lower(model, inputs, XnnpackPartitioner(compat="1.4"))
    left = {node.target.__name__ for node in get_non_lowered_nodes(lowered.exported_program().graph)}
    assert "aten.convolution.default" in left
    check(model, inputs, lowered=lowered)
