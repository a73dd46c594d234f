# SPDX-License-Identifier: BSD-3-Clause
"""Patterns of networks that were once slow, compared with PyTorch eager: dilated and wide depthwise convolutions,
branches that are one convolution, hard swish, and windows of attention."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from test_lowering import Call, Normalized, check, graphs, kinds, lower
from torch import Tensor, nn
from torch.export import Dim

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import to_edge
from sdk.exir.backend.utils import get_non_lowered_nodes

WINDOWS = {
    "atrous 12": (nn.Conv2d(64, 32, 3, dilation=12, padding=12), (14, 14)),
    "atrous 36": (nn.Conv2d(64, 32, 3, dilation=36, padding=36, bias=False), (17, 33)),
    "depthwise 7": (nn.Conv2d(24, 24, 7, padding=3, groups=24), (14, 15)),
    "depthwise 7, strided": (nn.Conv2d(17, 17, 7, padding=3, stride=2, groups=17), (15, 14)),
    "depthwise 31": (nn.Conv2d(5, 5, 31, padding=15, groups=5), (20, 19)),
    "depthwise 1 x 51": (nn.Conv2d(16, 16, (1, 51), padding=(0, 25), groups=16), (6, 60)),
    "depthwise 7, two results of a channel": (nn.Conv2d(8, 16, 7, padding=3, groups=8), (9, 9)),
}


@pytest.mark.parametrize("window", WINDOWS)
def test_windows_of_all_shapes_that_a_program_has(window: str) -> None:
    """XNN-14: the program is in the original's format; its images may be smaller than the exported ones."""
    layer, (height, width) = WINDOWS[window]
    image = (torch.randn(1, layer.in_channels, height, width),)
    model = nn.Sequential(Normalized(layer, layer.out_channels), nn.ReLU6()).eval()
    size = Dim("height", min=height - 6 if "strided" not in window else height - 4, max=height)
    dynamic = lower(model, image, XnnpackPartitioner(compat="1.4"), dynamic_shapes=({2: size},))
    assert len(graphs(dynamic)) == 1
    smaller = (torch.randn(1, layer.in_channels, height - 4, width),)
    check(model, image, smaller, image, lowered=dynamic)


class Branches(nn.Module):
    """RepVGG's block: convolutions of 3 x 3 and 1 x 1 and the image itself, each with a batch norm."""

    def __init__(self, channels: int, groups: int, outputs: int | None = None, stride: int = 1) -> None:
        super().__init__()
        outputs = outputs or channels
        options = {"stride": stride, "groups": groups, "bias": False}
        self.square = Statistics(nn.Conv2d(channels, outputs, 3, padding=1, **options), outputs)
        self.point = Statistics(nn.Conv2d(channels, outputs, 1, **options), outputs)
        self.same = Statistics(nn.Identity(), channels) if outputs == channels and stride == 1 else None

    def forward(self, x: Tensor) -> Tensor:
        y = self.square(x) + self.point(x)
        return (y if self.same is None else y + self.same(x)).relu()


class Statistics(Normalized):
    """`Normalized` without the activation."""

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.convolution(x))


@pytest.mark.parametrize(
    ("channels", "groups", "outputs", "stride"), [(8, 1, 8, 1), (8, 4, 8, 1), (6, 6, 6, 1), (5, 1, 9, 2)]
)
def test_branches_are_one_convolution(channels: int, groups: int, outputs: int, stride: int) -> None:
    inputs = (torch.randn(2, channels, 9, 10),)
    model = Branches(channels, groups, outputs, stride).eval()
    lowered = lower(model, inputs, XnnpackPartitioner(compat="1.4"))
    (graph,) = graphs(lowered)
    convolutions = [kind for kind in kinds(graph) if "Conv" in kind]
    assert convolutions == ["DepthwiseConv2d" if groups == channels else "Conv2d"]
    assert "Add" not in kinds(graph)
    check(model, inputs, lowered=lowered)


class Apart(nn.Module):
    """Sums of convolutions that cannot be merged into one convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            [
                nn.Conv2d(4, 4, 3, padding=1),
                nn.Conv2d(4, 4, 5, padding=2),
                nn.Conv2d(4, 4, 3, padding=2, dilation=2),
                nn.Conv2d(4, 4, (1, 3), padding=(0, 1)),
                nn.Conv2d(4, 4, (3, 1), padding=(1, 0)),
                nn.Conv2d(4, 4, 3, padding=1, groups=2),
                nn.Conv2d(4, 1, 3, padding=1),
            ]
        )

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        square, large, dilated, row, column, grouped, narrow = (layer(x) for layer in self.layers)
        other = self.layers[0](x * 2)
        return dilated + large, row + column, grouped + other, narrow + self.layers[1](x), square, square + other


def test_other_sums_stay_sums() -> None:
    """Sums that differ in the image, the dilation, the position of windows, the groups, broadcasting or the number of
    users stay sums."""
    inputs = (torch.randn(1, 4, 9, 10),)
    model = Apart().eval()
    lowered = lower(model, inputs)
    found = [kind for graph in graphs(lowered) for kind in kinds(graph)]
    assert found.count("Add") == 5
    check(model, inputs, lowered=lowered)


@pytest.mark.parametrize("in_place", [False, True])
def test_hard_swish_is_one_node(in_place: bool) -> None:
    """XNN-13: also where the model writes in place."""
    inputs = (torch.linspace(-6, 6, 2 * 5 * 8 * 9).reshape(2, 5, 8, 9),)
    model = nn.Sequential(nn.Conv2d(5, 5, 1), nn.Hardswish(inplace=in_place)).eval()
    lowered = lower(model, inputs, XnnpackPartitioner(compat="1.4"))
    assert "Hardswish" in kinds(graphs(lowered)[0])
    assert not {"Div", "Multiply", "Clamp"} & set(kinds(graphs(lowered)[0]))
    check(model, inputs, lowered=lowered)
    left = {node.target.__name__ for node in to_edge(torch.export.export(model, inputs)).exported_program().graph.nodes
            if node.op == "call_function"}  # fmt: skip
    assert "aten.hardswish.default" not in left, "without a backend it is decomposed as before"


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("shifts", "dims"), [((1,), (2,)), ((-3, 2), (1, 2)), ((0, 12), (1, 2)), ((7,), ()), ((9, 1, -1), (1, 1, 0))]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool])
def test_rolls_are_slices(shifts: tuple[int, ...], dims: tuple[int, ...], dtype: torch.dtype) -> None:
    x = torch.arange(120).reshape(2, 5, 12) % 7
    inputs = ((x > 3) if dtype == torch.bool else x.to(dtype),)
    model = Call(lambda x: torch.roll(x, shifts, dims))
    program = to_edge(torch.export.export(model, inputs))
    names = {node.target.__name__ for node in program.exported_program().graph.nodes if node.op == "call_function"}
    assert names <= {"aten.slice_copy.Tensor", "aten.cat.default", "aten.view_copy.default", "aten.clone.default",
                     "dim_order_ops._clone_dim_order.default"}  # fmt: skip
    check(model, inputs, lowered=program)


def test_rolls_of_dynamic_sizes() -> None:
    model = Call(lambda x: torch.roll(x, (3, -1), (0, 1)) + 1)
    lowered = lower(model, (torch.randn(6, 4),), dynamic_shapes=(({0: Dim("rows", min=2, max=9)},),))
    check(model, *((torch.randn(rows, 4),) for rows in (9, 2, 3)), lowered=lowered)


class WindowAttention(nn.Module):
    """Swin's: a biased attention in shifted windows of 4 x 4, whose mask is computed in each call, and the merging of
    patches after it."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.merge = nn.Linear(8, 24), nn.Linear(32, 16)
        self.table = nn.Parameter(torch.randn(49, 2))
        at = torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")).flatten(1)
        apart = at[:, :, None] - at[:, None] + 3
        self.register_buffer("index", (apart[0] * 7 + apart[1]).flatten())

    def forward(self, x: Tensor) -> Tensor:
        x = torch.roll(x, (-2, -2), (1, 2))
        windows = x.view(1, 3, 4, 3, 4, 8).permute(0, 1, 3, 2, 4, 5).reshape(9, 16, 8)
        q, k, v = self.qkv(windows).reshape(9, 16, 3, 2, 4).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) + self.table[self.index].view(16, 16, 2).permute(2, 0, 1)
        part = x.new_zeros(12, 12)
        part[8:, :] = 1
        part[:, 10:] += 2
        part = part.view(3, 4, 3, 4).permute(0, 2, 1, 3).reshape(9, 16)
        mask = part[:, None] - part[:, :, None]
        scores = scores + mask.masked_fill(mask != 0, -100.0).masked_fill(mask == 0, 0.0)[:, None]
        y = (F.softmax(scores, -1) @ v).transpose(1, 2).reshape(1, 3, 3, 4, 4, 8)
        y = torch.roll(y.permute(0, 1, 3, 2, 4, 5).reshape(1, 12, 12, 8), (2, 2), (1, 2))
        parts = [y[:, row::2, column::2] for column in range(2) for row in range(2)]
        return self.merge(torch.cat(parts, -1))


def test_windows_of_attention_are_one_delegate() -> None:
    inputs = (torch.randn(1, 12, 12, 8),)
    model = WindowAttention().eval()
    lowered = lower(model, inputs)
    assert not get_non_lowered_nodes(lowered.exported_program().graph)
    check(model, inputs, lowered=lowered)


@pytest.mark.parametrize(
    ("start", "end", "step"), [(0, 12, 2), (1, 12, 3), (5, 11, 4), (-7, 12, 2), (11, 12, 12), (2, 9, 1)]
)
def test_strided_slices(start: int, end: int, step: int) -> None:
    inputs = (torch.randn(2, 12, 5),)
    model = Call(lambda x: x[:, start:end:step] * 2)
    lowered = lower(model, inputs, XnnpackPartitioner(compat="1.4"))
    assert not get_non_lowered_nodes(lowered.exported_program().graph)
    check(model, inputs, lowered=lowered)
    uneven = Call(lambda x: x[:, ::5] * 2)
    check(uneven, inputs, lowered=lower(uneven, inputs))
