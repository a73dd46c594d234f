# SPDX-License-Identifier: BSD-3-Clause
"""Convolutions over one dimension, which XNNPACK computes as convolutions of images of height 1, compared with PyTorch
eager."""

from __future__ import annotations

import pytest
import torch
from test_lowering import Call, check, graphs, kinds, lower
from torch import nn
from torch.export import Dim

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir.backend.utils import get_non_lowered_nodes

LAYERS = {
    "plain": nn.Conv1d(6, 8, 3, padding=1),
    "strided": nn.Conv1d(6, 4, 5, stride=3, padding=2, bias=False),
    "dilated": nn.Conv1d(6, 4, 3, dilation=4),
    "groups": nn.Conv1d(6, 9, 3, groups=3),
    "depthwise": nn.Conv1d(6, 12, 3, groups=6, padding=1),
    "to one channel": nn.Conv1d(6, 1, 1),
    "to one element": nn.Conv1d(6, 4, 30),
}


@pytest.mark.sampled
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("batch", [1, 3])
def test_layers(layer: str, batch: int) -> None:
    """PAS-17, XNN-14: a Conv1d becomes a Conv2d, also in the original's format."""
    inputs = (torch.randn(batch, 6, 30),)
    for partitioner in (XnnpackPartitioner(), XnnpackPartitioner(compat="1.4")):
        lowered = lower(LAYERS[layer], inputs, partitioner)
        assert not get_non_lowered_nodes(lowered.exported_program().graph)
        check(LAYERS[layer], inputs, lowered=lowered)


def test_one_channel_is_not_moved() -> None:
    inputs = (torch.randn(1, 1, 64),)
    model = nn.Conv1d(1, 4, 16, stride=8)
    (graph,) = graphs(lower(model, inputs))
    assert kinds(graph) == ["StaticReshape", "Conv2d", "StaticReshape", "StaticTranspose"]
    check(model, inputs, lowered=lower(model, inputs))


@pytest.mark.parametrize("dim", [0, 2])
def test_one_size_may_be_dynamic(dim: int) -> None:
    model = nn.Sequential(nn.Conv1d(6, 8, 3, padding=1), nn.ReLU(), nn.Conv1d(8, 4, 3))
    inputs = (torch.randn(4, 6, 30),)
    shapes = ({dim: Dim("size", min=4, max=40)},)
    lowered = lower(model, inputs, dynamic_shapes=shapes)
    assert len(graphs(lowered)) == 1
    sizes = [(7, 6, 30), (4, 6, 30)] if dim == 0 else [(4, 6, 40), (4, 6, 11)]
    check(model, *((torch.randn(size),) for size in sizes), lowered=lowered)


def test_what_is_not_taken_has_a_reason_and_is_right() -> None:
    model = nn.Sequential(nn.ConvTranspose1d(6, 4, 3), Call(torch.relu))
    inputs = (torch.randn(1, 6, 30),)
    lowered = lower(model, inputs)
    left = {node.target.__name__ for node in get_non_lowered_nodes(lowered.exported_program().graph)}
    assert left == {"aten.convolution.default"}
    check(model, inputs, lowered=lowered)
