# SPDX-License-Identifier: BSD-3-Clause
"""Steps that reduce, multiply, convolve and normalise."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from compositions.draw import Draw
from compositions.steps import Maker, step

REDUCTIONS = {
    "sum": torch.sum,
    "mean": torch.mean,
    "amax": torch.amax,
    "amin": torch.amin,
    "var": torch.var,
    "norm": lambda x, dim, keepdim: torch.linalg.vector_norm(x, dim=dim, keepdim=keepdim),
    "logsumexp": torch.logsumexp,
    "max": lambda x, dim, keepdim: torch.max(x, dim, keepdim=keepdim)[0],
    "prod": lambda x, dim, keepdim: torch.prod(x.tanh() + 1, dim, keepdim=keepdim),
}


@step("f")
def reduction(draw: Draw, x: Tensor) -> Maker | None:
    dim, keepdim, name = draw.dim(x), draw.chance(0.5), draw.of(list(REDUCTIONS))
    if name == "var" and x.shape[dim] < 2:
        return None
    return lambda x: REDUCTIONS[name](x, dim, keepdim=keepdim)


@step("f")
def reduction_of_dimensions(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() < 3:
        return None
    dims, keepdim = draw.order(x.dim())[:2], draw.chance(0.5)
    function = draw.of([torch.sum, torch.mean, torch.amax])
    return lambda x: function(x, dims, keepdim=keepdim)


@step("f")
def along(draw: Draw, x: Tensor) -> Maker:
    """Functions along a dimension that keep the shape."""
    function, dim = draw.of([F.softmax, F.log_softmax, torch.cumsum, F.normalize]), draw.dim(x)
    return (lambda x: F.normalize(x, dim=dim)) if function is F.normalize else lambda x: function(x, dim)


@step("f")
def linear(draw: Draw, x: Tensor) -> Maker:
    return nn.Linear(x.shape[-1], draw.of([1, 3, 8, 16, 17, 33]), bias=draw.chance(0.7))


class Activated(nn.Sequential):
    """A layer and an activation, which backends fuse."""


@step("f")
def linear_activated(draw: Draw, x: Tensor) -> Maker:
    return Activated(nn.Linear(x.shape[-1], draw.of([4, 16, 31])), draw.of([nn.ReLU(), nn.GELU(), nn.ReLU6()]))


@step("ff")
def matmul(draw: Draw, x: Tensor, y: Tensor) -> Maker | None:
    if x.dim() < 2 or y.dim() < 2:
        return None
    if x.shape[-1] == y.shape[-2]:
        return torch.matmul
    if x.shape[-1] == y.shape[-1]:
        return lambda x, y: x @ y.transpose(-1, -2)
    return (lambda x, y: x.transpose(-1, -2) @ y) if x.shape[-2] == y.shape[-2] else None


@step("f")
def gram(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() < 2:
        return None
    return lambda x: x @ x.transpose(-1, -2) * 0.1


@step("f")
def attention(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() < 3:
        return None
    causal = draw.chance(0.5)
    return lambda x: F.scaled_dot_product_attention(x, x * 0.5, x.relu(), is_causal=causal)


@step("f")
def convolution(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() not in (3, 4):
        return None
    channels, groups = x.shape[1], 1
    kind = draw.of(["plain", "pointwise", "depthwise", "grouped", "transposed"])
    if kind == "depthwise":
        groups = channels
    if kind == "grouped":
        groups = max(g for g in (1, 2, 3, 4) if channels % g == 0)
    kernel = 1 if kind == "pointwise" else draw.of([1, 2, 3, 5])
    outputs = groups * draw.of([1, 2, 8] if groups == 1 else [1, 2])
    options = {"stride": draw.number(1, 2), "padding": draw.number(0, 2), "groups": groups}
    if kind == "transposed":
        layer = nn.ConvTranspose1d if x.dim() == 3 else nn.ConvTranspose2d
    else:
        layer = nn.Conv1d if x.dim() == 3 else nn.Conv2d
        options["dilation"] = draw.number(1, 2)
    made = layer(channels, outputs, kernel, bias=draw.chance(0.7), **options)
    return Activated(made, draw.of([nn.ReLU(), nn.Hardtanh(), nn.SiLU()])) if draw.chance(0.4) else made


@step("f")
def pool(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() != 4:
        return None
    size, stride, padding, ceil = draw.number(1, 3), draw.number(1, 2), draw.number(0, 1), draw.chance(0.3)
    if padding > size // 2:
        return None
    if draw.chance(0.5):
        return nn.MaxPool2d(size, stride, padding, ceil_mode=ceil)
    return nn.AvgPool2d(size, stride, padding, ceil_mode=ceil, count_include_pad=draw.chance(0.5))


@step("f")
def adaptive_pool(draw: Draw, x: Tensor) -> Maker | None:
    size = draw.of([1, 2, (1, 3)])
    return nn.AdaptiveAvgPool2d(size) if x.dim() == 4 else None


@step("f")
def resize(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() != 4:
        return None
    size = [draw.number(1, 9), draw.number(1, 9)]
    if draw.chance(0.5):
        return lambda x: F.interpolate(x, size, mode="nearest")
    corners = draw.chance(0.5)
    return lambda x: F.interpolate(x, size, mode="bilinear", align_corners=corners)


@step("f")
def normalization(draw: Draw, x: Tensor) -> Maker | None:
    kind = draw.of(["layer", "group", "batch", "instance"])
    if x.dim() < 2 or (kind != "layer" and x.dim() not in (3, 4)):
        return None
    if kind == "layer":
        return nn.LayerNorm(x.shape[-1])
    if kind == "group":
        return nn.GroupNorm(max(g for g in (1, 2, 3, 4) if x.shape[1] % g == 0), x.shape[1])
    if kind == "instance":
        return nn.InstanceNorm1d(x.shape[1]) if x.dim() == 3 else nn.InstanceNorm2d(x.shape[1])
    layer = nn.BatchNorm1d(x.shape[1]) if x.dim() == 3 else nn.BatchNorm2d(x.shape[1])
    layer.running_mean.normal_()
    layer.running_var.uniform_(0.5, 2)
    return layer


@step("f")
def recurrent(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() != 3 or x.shape[1] > 9:
        return None
    layer = draw.of([nn.GRU, nn.LSTM])(x.shape[2], draw.of([3, 8]), batch_first=True)
    return First(layer)


class First(nn.Module):
    """The first of a layer's results."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)[0]
