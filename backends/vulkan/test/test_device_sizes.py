# SPDX-License-Identifier: BSD-3-Clause
"""The operators that models use most, around the boundaries of the kernels: vectors of 4, workgroups of 16, 32 and 64
threads, blocks of 2, 4 and 8 rows; with 1 to 5 dimensions, and with dynamic shapes at both ends of their range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from eager import check, check_together
from hand_built import numbers
from torch import Tensor, nn
from torch.export import Dim

CHANNELS = (1, 3, 4, 5, 7, 8, 9, 31, 33)
WIDTHS = (1, 2, 15, 16, 17, 63, 65, 129, 257)
# (batch, channels, width): each number of channels, and each side of each boundary once.
FEW = (
    *((1, 1, 1), (3, 3, 15), (1, 4, 16), (3, 5, 17), (1, 7, 31)),
    *((3, 8, 33), (1, 9, 63), (3, 31, 64), (1, 33, 65)),
)
# Combines each number of channels with four of the widths, and each width with four of the numbers.
WIDE = tuple(
    (1 if (first + step) % 2 else 3, c, WIDTHS[(first + 2 * step) % len(WIDTHS)])
    for first, c in enumerate(CHANNELS)
    for step in range(4)
)

Family = Callable[[int, int], tuple[Any, tuple[int, ...]]]


def trained_batch_norm(channels: int) -> nn.BatchNorm2d:
    norm = nn.BatchNorm2d(channels)
    norm.running_mean, norm.running_var = numbers(channels), numbers(channels).abs() + 0.5
    norm.weight, norm.bias = nn.Parameter(numbers(channels, seed=1)), nn.Parameter(numbers(channels, seed=2))
    return norm


def plus_broadcast(x: Tensor) -> Tensor:
    return x * x[..., :1] + x[:1] - x.mean(1, keepdim=True) / (x.abs()[..., -1:] + 1)


# The module or function for a number of channels and a width, and the shape of its input without the batch.
IMAGES: dict[str, Family] = {
    "conv2d": lambda c, w: (nn.Conv2d(c, c + 1, 3, padding=1, stride=1 + w % 2), (c, 3, w)),
    "conv2d_relu": lambda c, w: (nn.Sequential(nn.Conv2d(c, 2 * c + 1, 2, padding=1), nn.ReLU6()), (c, 2, w)),
    "pointwise": lambda c, w: (nn.Conv2d(c, 2 * c - 1, 1), (c, 1, w)),
    "depthwise": lambda c, w: (nn.Conv2d(c, 2 * c, 3, padding=1, groups=c), (c, 3, w)),
    "grouped": lambda c, w: (nn.Conv2d(2 * c, 4 * c, 3, padding=(1, 2), dilation=(1, 2), groups=2), (2 * c, 3, w)),
    "transposed": lambda c, w: (nn.ConvTranspose2d(c, c + 2, 3, 2, padding=1, output_padding=1), (c, 2, w)),
    "conv1d": lambda c, w: (nn.Conv1d(c, c + 3, 3, padding=1), (c, w)),
    "batch_norm": lambda c, w: (trained_batch_norm(c), (c, 1, w)),
    "group_norm": lambda c, w: (nn.GroupNorm(1 if c % 2 else 2, c), (c, 2, w)),
    "max_pool": lambda c, w: (nn.MaxPool2d(2, 2, 1, ceil_mode=bool(c % 2)), (c, 3, w)),
    "avg_pool": lambda c, w: (nn.AvgPool2d(3, 2, 1, ceil_mode=bool(w % 2), count_include_pad=bool(c % 2)), (c, 5, w)),
    "global_pool": lambda c, w: (nn.AdaptiveAvgPool2d(1), (c, 3, w)),
    "nearest": lambda c, w: (nn.Upsample(scale_factor=1.5 if w > 1 else 2), (c, 2, w)),
    "bilinear": lambda c, w: (nn.Upsample(size=(5, w + 3), mode="bilinear", align_corners=bool(c % 2)), (c, 3, w)),
}
ROWS: dict[str, Family] = {
    "linear": lambda c, w: (nn.Linear(c, w, bias=bool(w % 2)), (w % 11 + 1, c)),
    "linear_deep": lambda c, w: (nn.Linear(w, c), (c, w)),
    "bmm": lambda c, w: (lambda x: torch.bmm(x, x.transpose(1, 2).contiguous()), (c, w)),
    "matmul": lambda c, w: (lambda x: x.transpose(-1, -2) @ x, (2, c, w)),
    "softmax": lambda c, w: (nn.Softmax(-1), (c, w)),
    "softmax_of_channels": lambda c, w: (nn.LogSoftmax(1), (c, w)),
    "layer_norm": lambda c, w: (nn.LayerNorm(w), (c, w)),
    "sum": lambda c, w: (lambda x: (x.sum(-1), x.amax(1), x.sum((0, 2), keepdim=True)), (c, w)),
    "mean": lambda c, w: (lambda x: (x.mean((1, 2)), x.amin(-1, keepdim=True)), (c, w)),
    "argmax": lambda c, w: (lambda x: (x.argmax(-1), x.argmin(1)), (c, w)),
    "arithmetic": lambda c, w: (plus_broadcast, (c, w)),
    "sdpa": lambda c, w: (lambda x: F.scaled_dot_product_attention(x, x * 0.5, x + 1), (2, c, w)),
    "moves": lambda c, w: (lambda x: torch.cat([x.permute(0, 2, 1).reshape(x.shape), x[:, :1] * 2, x], 1), (c, w)),
    "parts": lambda c, w: (lambda x: x[:, c // 2, w // 2 :: 2].unsqueeze(1).expand(-1, 3, -1) + 1, (c, w)),
    "functions": lambda c, w: (lambda x: F.gelu(x) * torch.sigmoid(x) + torch.tanh(x).exp(), (c, w)),
}
FAMILIES = {**IMAGES, **ROWS}


def check_sizes(families: dict[str, Family], sizes: tuple[tuple[int, int, int], ...], half: bool) -> None:
    torch.manual_seed(0)
    parts: dict[str, tuple[Any, tuple[Tensor, ...]]] = {}
    for name, family in families.items():
        for batch, c, w in sizes:
            model, shape = family(c, w)
            # Uses numbers that float16 can store, so that ties and differences come from the arithmetic.
            parts[f"{name} of {batch} x {shape}"] = model, (numbers(batch, *shape).half().float(),)
    check_together(parts, half)


@pytest.mark.parametrize(("name", "half"), [("images", False), ("rows", False), ("images", True), ("rows", True)])
def test_boundaries(name: str, half: bool) -> None:
    """VK-05"""
    check_sizes(IMAGES if name == "images" else ROWS, FEW[1::3] if half else FEW[::2], half)


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_wide_tiles(half: bool) -> None:
    """VK-05: more than 4 million multiplications, for which a thread on a CPU computes 8 rows of 16 columns. Rows,
    columns and depths are not multiples of tiles and vectors."""
    torch.manual_seed(0)
    parts: dict[str, tuple[Any, tuple[Tensor, ...]]] = {
        "linear": (nn.Linear(512, 131), (numbers(67, 512),)),
        "bmm": (torch.bmm, (numbers(2, 33, 502) * 0.1, numbers(2, 502, 132) * 0.1)),
    }
    if not half:
        parts["matmul"] = torch.matmul, (numbers(9, 3001) * 0.1, numbers(3001, 194) * 0.1)
    parts = {name: (part, tuple(x.half().float() for x in inputs)) for name, (part, inputs) in parts.items()}
    check_together(parts, half)


@pytest.mark.slow
@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
@pytest.mark.parametrize("name", FAMILIES)
def test_all_boundaries(name: str, half: bool) -> None:
    check_sizes({name: FAMILIES[name]}, (*FEW, *WIDE), half)


SHAPES = ((33,), (5, 17), (3, 5, 9), (2, 3, 4, 5), (2, 3, 1, 4, 5))
ANY_RANK: dict[str, Callable[[Tensor], Any]] = {
    "arithmetic": lambda x: (x + x[..., :1]) * x[:1] - 0.5,
    "cat": lambda x: torch.cat([x, x[:1]], 0) + 1,
    "compare": lambda x: torch.where(x > x[..., :1], x, -x),
    "division": lambda x: (x.div(0.1, rounding_mode="floor"), x.div(x[..., -1:], rounding_mode="trunc")),
    "permute": lambda x: x.permute(*reversed(range(x.dim()))) * 2,
    "reduce": lambda x: (x.sum(-1), x.mean(0), x.amax(-1, keepdim=True)),
    "select": lambda x: x.select(-1, 2) + x.select(-1, -1),
    "slice": lambda x: x[..., 1:-1:2] * 2,
    "softmax": lambda x: torch.softmax(x, -1) + torch.softmax(x, 0),
    "unsqueeze": lambda x: x.unsqueeze(1).expand(-1, 2, *x.shape[1:]) * 1,
}


def test_any_rank() -> None:
    """Operators on tensors of 1 to 5 dimensions."""
    check_together({f"{name} of {shape}": (f, (numbers(*shape),)) for name, f in ANY_RANK.items() for shape in SHAPES})


class Pyramid(nn.Module):
    """Convolutions of all kinds, pools and resizing, for images of any size."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 9, 3, padding=1), nn.BatchNorm2d(9), nn.ReLU())
        self.down = nn.Sequential(nn.Conv2d(9, 9, 3, 2, 1, groups=9), nn.Conv2d(9, 7, 1), nn.GroupNorm(1, 7))
        self.up = nn.ConvTranspose2d(7, 9, 2, 2)
        self.scale = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(9, 9, 1), nn.Sigmoid())

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        x = self.stem(x)
        low = self.down(x)
        near = F.interpolate(low, scale_factor=2.0)
        x = self.up(low) + x * self.scale(x)
        smooth = F.interpolate(low, scale_factor=2.0, mode="bilinear", align_corners=False)
        return torch.cat([x, near], 1), F.max_pool2d(x, 2) + F.avg_pool2d(x, 2), torch.softmax(smooth, 1)


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_images_of_any_size(half: bool) -> None:
    """VK-02: one program runs images of the largest size, the smallest, and others whose rows do not fill whole
    vectors."""
    torch.manual_seed(0)
    sizes = [(2, 12, 10), (1, 2, 2), (3, 16, 34), (1, 6, 18), (2, 2, 34)]
    height, width = Dim("height", min=1, max=8), Dim("width", min=1, max=17)
    dynamic = {"x": {0: Dim("batch", min=1, max=3), 2: 2 * height, 3: 2 * width}}
    check(Pyramid(), *((numbers(n, 3, h, w),) for n, h, w in sizes), half=half, dynamic=dynamic)


class Block(nn.Module):
    """A layer of a transformer whose attention is written out."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        weights = torch.softmax(q @ k.transpose(-1, -2) / 4, -1)
        y = x + self.out(weights @ v)
        return y, y.mean(1), torch.cat([y[:, :1], y[:, -1:]], 1), y.amax(-1), y.select(1, 0)


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_sequences_of_any_length(half: bool) -> None:
    """VK-02: one program runs sequences whose rows and columns do not fill whole vectors or blocks."""
    torch.manual_seed(0)
    sizes = [(2, 16), (1, 1), (3, 65), (1, 64), (2, 7), (3, 2), (1, 33)]
    dynamic = {"x": {0: Dim("batch", min=1, max=3), 1: Dim("length", min=1, max=65)}}
    check(Block(20), *((numbers(n, length, 20),) for n, length in sizes), half=half, dynamic=dynamic)
