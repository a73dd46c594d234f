# SPDX-License-Identifier: BSD-3-Clause
"""Calls of 100 operators, by families, for programs that both SDKs can lower."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Shapes = tuple[tuple[int, ...], ...]
CallOfShapes = tuple[Callable[..., Any], Shapes]

X, Y = (3, 5, 16), (16,)
IMAGE = (2, 8, 9, 11)


def _positive(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: function(x.abs() + 0.5)


def _unit(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: function(x.clamp(-0.9, 0.9))


def _batch_norm() -> nn.Module:
    norm = nn.BatchNorm2d(8)
    with torch.no_grad():
        for tensor in (norm.running_mean, norm.running_var, norm.weight, norm.bias):
            tensor.copy_(torch.linspace(0.5, 2.0, 8))
    return norm


FAMILIES: dict[str, list[CallOfShapes]] = {
    "arithmetic": [
        (lambda x, y: x + y, (X, Y)),
        (lambda x, y: x - y, (X, X)),
        (lambda x, y: x * y, (X, (5, 1))),
        (lambda x, y: x / (y.abs() + 1), (X, X)),
        (torch.maximum, (X, X)),
        (torch.minimum, (X, Y)),
        (lambda x, y: torch.where(x > y, x, y * 2), (X, X)),
        (lambda x: x + 1.5, (X,)),
        (lambda x: x - 0.25, (X,)),
        (lambda x: x * 3, (X,)),
        (lambda x: x / 7, (X,)),
        (lambda x, y: torch.pow(x.abs() + 0.5, y), (X, X)),
        (lambda x: torch.pow(x, 2), (X,)),
    ],
    "comparisons": [
        (lambda x, y: torch.where(x >= y, x, y * 2), (X, X)),
        (lambda x, y: torch.where(x < y, x, y * 2), (X, X)),
        (lambda x, y: torch.where(x <= y, x, y * 2), (X, X)),
        (lambda x, y: torch.where(torch.relu(x) == torch.relu(y), x, y * 2), (X, X)),
        (lambda x, y: torch.where(torch.relu(x) != torch.relu(y), x, y * 2), (X, X)),
        (lambda x: torch.where(x > 0.5, x, -x), (X,)),
        (lambda x: torch.where(x < 0.5, x, -x), (X,)),
        (lambda x, y: torch.where((x > 0) & (y > 0), x, y), (X, X)),
        (lambda x, y: torch.where((x > 0) | (y > 0), x, y), (X, X)),
        (lambda x: torch.where(torch.logical_not(x > 0), x, x * 2), (X,)),
    ],
    "functions": [
        (torch.abs, (X,)),
        (torch.exp, (X,)),
        (torch.sigmoid, (X,)),
        (torch.tanh, (X,)),
        (torch.floor, (X,)),
        (torch.ceil, (X,)),
        (torch.neg, (X,)),
        (_positive(torch.rsqrt), (X,)),
        (_positive(torch.sqrt), (X,)),
        (_positive(torch.log), (X,)),
        (_positive(torch.reciprocal), (X,)),
        (torch.erf, (X,)),
        (torch.sin, (X,)),
        (torch.cos, (X,)),
        (torch.sign, (X,)),
        (torch.round, (X,)),
    ],
    "more functions": [
        (_positive(torch.log1p), (X,)),
        (torch.expm1, (X,)),
        (torch.sinh, (X,)),
        (torch.cosh, (X,)),
        (_unit(torch.asin), (X,)),
        (_unit(torch.acos), (X,)),
        (torch.atan, (X,)),
        (torch.asinh, (X,)),
        (_unit(torch.atanh), (X,)),
        (lambda x: torch.acosh(x.abs() + 1.5), (X,)),
        (_unit(torch.tan), (X,)),
    ],
    "activations": [
        (lambda x: F.hardtanh(x, -0.5, 1.25), (X,)),
        (torch.relu, (X,)),
        (F.relu6, (X,)),
        (F.gelu, (X,)),
        (lambda x: F.gelu(x, approximate="tanh"), (X,)),
        (F.silu, (X,)),
        (F.hardswish, (X,)),
        (F.hardsigmoid, (X,)),
        (F.leaky_relu, (X,)),
        (F.elu, (X,)),
        (lambda x: torch.clamp(x, -0.5, 1.0), (X,)),
        (lambda x: x.softmax(-1), (X,)),
        (lambda x: x.log_softmax(1), (X,)),
        (lambda x: F.glu(x), (X,)),
    ],
    "reductions": [
        (lambda x: x.sum(1), (X,)),
        (lambda x: x.mean((2, 3)), (IMAGE,)),
        (lambda x: x.amax(2, keepdim=True), (X,)),
        (lambda x: x.amin(1), (X,)),
        (lambda x: x.var(1), (X,)),
        (lambda x: F.layer_norm(x, (16,)), (X,)),
        (lambda x: F.group_norm(x, 2), (IMAGE,)),
        (_batch_norm(), (IMAGE,)),
    ],
    "shapes": [
        (lambda x: x.permute(2, 0, 1), (X,)),
        (lambda x: x.reshape(5, 48) * 2, (X,)),
        (lambda x: x[:, 1:4], (X,)),
        (lambda x: x[:, 2], (X,)),
        (lambda x, y: torch.cat([x, y], 1), (X, X)),
        (lambda x, y: torch.stack([x, y], 1), (X, X)),
        (lambda x: F.pad(x, (1, 2), value=1.5), (X,)),
        (lambda x: x.repeat(2, 1, 1), (X,)),
        (lambda x: x.flip(1), (X,)),
        (lambda x: x.unsqueeze(1) * 2, (X,)),
        (lambda x: x.squeeze(1) * 2, ((3, 1, 5),)),
        (lambda x: x.transpose(1, 2), (X,)),
        (lambda x: x.expand(4, -1, -1) * 2, ((1, 5, 16),)),
        (lambda x: torch.split(x, 4, -1)[1] * 2, (X,)),
        (lambda x: x * torch.full((16,), 2.5), (X,)),
    ],
    "products": [
        (torch.mm, ((5, 16), (16, 7))),
        (torch.bmm, (X, (3, 16, 7))),
        (nn.Linear(16, 33), (X,)),
        (lambda x, y, b: torch.addmm(b, x, y), ((5, 16), (16, 7), (7,))),
        (lambda x, y: torch.matmul(x, y), ((2, 3, 5, 16), (2, 3, 16, 7))),
    ],
    "windows": [
        (nn.Conv2d(8, 12, 3, 2, 1), (IMAGE,)),
        (nn.Conv2d(8, 16, 3, groups=8), (IMAGE,)),
        (nn.Conv2d(8, 4, 3, dilation=2), (IMAGE,)),
        (nn.Conv1d(5, 7, 3), (X,)),
        (nn.ConvTranspose2d(8, 4, 3, 2), (IMAGE,)),
        (lambda x: F.max_pool2d(x, 3, 2, 1), (IMAGE,)),
        (lambda x: F.avg_pool2d(x, 2), (IMAGE,)),
        (lambda x: F.adaptive_avg_pool2d(x, 1), (IMAGE,)),
    ],
    "resizing": [
        (lambda x: F.interpolate(x, scale_factor=2), (IMAGE,)),
        (lambda x: F.interpolate(x, size=(17, 21), mode="bilinear", align_corners=True), (IMAGE,)),
    ],
}
"""102 calls. Each is a function and the shapes of its inputs; the values of inputs are normally distributed.

The original requires the weights of convolutions and linear layers to be constants, and does not lower `pixel_shuffle`.
"""


class Several(nn.Module):
    """Calls several functions or modules, each with its own inputs, which `inputs` makes."""

    def __init__(self, calls: list[CallOfShapes]) -> None:
        super().__init__()
        self.calls = calls
        self.modules_of_calls = nn.ModuleList([call for call, _ in calls if isinstance(call, nn.Module)])
        self.inputs = tuple(torch.randn(shape) for _, shapes in calls for shape in shapes)

    def forward(self, *inputs: Tensor) -> list[Tensor]:
        results, rest = [], list(inputs)
        for function, shapes in self.calls:
            results.append(function(*rest[: len(shapes)]))
            del rest[: len(shapes)]
        return results
