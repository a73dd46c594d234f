# SPDX-License-Identifier: BSD-3-Clause
"""Models with one operator each, for the tables of ExecuTorch's page and of its release 1.4."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from npu_models import Function

IMAGE = (1, 8, 6, 8)


@dataclass(frozen=True)
class Case:
    """A model.

    Attributes:
        model: Creates the module.
        shapes: The shapes of its inputs.
        is_exact: Whether LiteRT computes the same integers as the interpreter; otherwise they may differ by a step.
        is_compared: Whether the result is compared with LiteRT's. False for sums, which LiteRT's reference kernel for
            int8 computes differently.

    """

    model: Callable[[], nn.Module]
    shapes: tuple[tuple[int, ...], ...] = (IMAGE,)
    is_exact: bool = True
    is_compared: bool = True

    def inputs(self) -> tuple[Tensor, ...]:
        source = torch.Generator().manual_seed(7)
        return tuple(2 * torch.randn(shape, generator=source) for shape in self.shapes)


def call(function: Callable[..., Any], *shapes: tuple[int, ...], **flags: bool) -> Case:
    return Case(lambda: Function(function), shapes or (IMAGE,), **flags)


class After(nn.Module):
    """A convolution and the operator after it."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(8, 8, 1)
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self.convolution(x))


def after(function: Callable[[Tensor], Tensor], **flags: bool) -> Case:
    return Case(lambda: After(function), **flags)


class Joined(nn.Module):
    """Two convolutions whose results are joined."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(8, 4, 1), nn.Conv2d(8, 8, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.first(x), functional.relu(self.second(x))], 1)


class Multiplied(nn.Module):
    """`addmm` with a bias, or `mm`."""

    def __init__(self, has_bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 4))
        self.bias = nn.Parameter(torch.randn(4)) if has_bias else None

    def forward(self, x: Tensor) -> Tensor:
        return torch.mm(x, self.weight) if self.bias is None else torch.addmm(self.bias, x, self.weight)


ROWS = (3, 8)

DOCUMENTED = {
    "abs": call(torch.abs),
    "adaptive_avg_pool2d": call(lambda x: functional.adaptive_avg_pool2d(x, (3, 4))),
    "addmm": Case(lambda: Multiplied(True), (ROWS,), is_exact=False),
    "add.Tensor": call(torch.add, IMAGE, IMAGE),
    "avg_pool2d": call(lambda x: functional.avg_pool2d(x, 2, padding=1)),
    "cat": Case(Joined),
    "conv1d": Case(lambda: nn.Conv1d(8, 6, 3, stride=2, padding=1), ((1, 8, 11),)),
    "conv2d": Case(lambda: nn.Conv2d(8, 6, 3, stride=2, padding=1)),
    "dropout": Case(lambda: nn.Sequential(nn.Conv2d(8, 6, 1), nn.Dropout())),
    "flatten": after(lambda x: torch.flatten(x, 1)),
    "hardtanh": Case(lambda: nn.Hardtanh(-0.7, 0.9)),
    "hardtanh_": Case(lambda: nn.Sequential(nn.Conv2d(8, 6, 1), nn.Hardtanh(0.0, 6.0, inplace=True))),
    "linear": Case(lambda: nn.Linear(8, 5), ((2, 3, 8),)),
    "max_pool2d": call(lambda x: functional.max_pool2d(x, 3, 2, 1)),
    "mean.dim": call(lambda x: x.mean((2, 3)), is_exact=False),
    "mul.Tensor": call(torch.mul, IMAGE, IMAGE),
    "pad": after(lambda x: functional.pad(x, (1, 2, 0, 1), value=0.5)),
    "permute": after(lambda x: x.permute(0, 2, 3, 1)),
    "relu": call(torch.relu),
    "relu_": Case(lambda: nn.Sequential(nn.Conv2d(8, 6, 3), nn.ReLU(inplace=True))),
    "reshape": after(lambda x: x.reshape(4, -1)),
    "view": after(lambda x: x.view(2, 4, -1)),
    "softmax": call(lambda x: functional.softmax(x, -1), is_exact=False),
    "tanh": call(torch.tanh, is_exact=False),
    "tanh_": Case(lambda: Function(lambda x: (x + 1).tanh_()), is_exact=False),
    "sigmoid": call(torch.sigmoid, is_exact=False),
    "slice_copy": after(lambda x: x[:, 2:6, 1:]),
}
"""The operators of ExecuTorch's page."""

OTHERS = {
    "amax": call(lambda x: x.amax((2, 3), keepdim=True)),
    "amin": call(lambda x: x.amin(1)),
    "avg_pool1d": call(lambda x: functional.avg_pool1d(x, 2), (1, 8, 6)),
    "bmm": call(torch.bmm, (2, 3, 8), (2, 8, 4)),
    "clamp": call(lambda x: x.clamp(max=0.5)),
    "conv2d.padding": Case(lambda: nn.Conv2d(8, 6, 3, padding="same", dilation=2)),
    "conv2d, depthwise": Case(lambda: nn.Sequential(nn.Conv2d(8, 16, 3, groups=8, bias=False), nn.ReLU6())),
    "conv2d, grouped": Case(lambda: nn.Sequential(nn.Conv2d(8, 4, 3, groups=2), nn.ReLU())),
    "conv_transpose2d": Case(lambda: nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1), is_exact=False),
    "exp": call(torch.exp, is_exact=False),
    "leaky_relu": call(lambda x: functional.leaky_relu(x, 0.1), is_exact=False),
    "log": call(lambda x: torch.log(x.abs() + 1), is_exact=False),
    "maximum": call(torch.maximum, IMAGE, IMAGE),
    "max_pool1d": call(lambda x: functional.max_pool1d(x, 2), (1, 8, 6)),
    "minimum": call(torch.minimum, IMAGE, IMAGE),
    "mm": Case(lambda: Multiplied(False), (ROWS,), is_exact=False),
    "mul, of a number": call(lambda x: x * 0.3),
    "neg": call(torch.neg),
    "prelu": Case(lambda: nn.PReLU(8), is_exact=False),
    "quotient of a number": call(lambda x: x / 3),
    "softmax, of channels": call(lambda x: functional.softmax(x, 1), is_exact=False),
    "split": after(lambda x: torch.split(x, [3, 5], 1)[1] * 1.5),
    "squeeze": after(lambda x: x[:, :1].squeeze(1)),
    "sub.Tensor": call(torch.sub, IMAGE, (8, 1, 1)),
    "sum.dim_IntList": call(lambda x: x.sum(1, keepdim=True), is_compared=False),
    "transpose.int": after(lambda x: x.transpose(1, 2)),
    "unsqueeze": after(lambda x: x.unsqueeze(1)),
    "upsample_bilinear2d": call(lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear"), is_exact=False),
    "upsample_nearest2d": call(lambda x: functional.interpolate(x, scale_factor=2)),
}
"""Other operators of the release 1.4, and other forms of the ones above."""

CASES = {**DOCUMENTED, **OTHERS}
