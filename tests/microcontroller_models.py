# SPDX-License-Identifier: BSD-3-Clause
"""Small int8 models of microcontrollers, for the tests of sdk.backends.cortex_m and of its firmware."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from person_detection import SHAPE, PersonDetection
from sdk.backends.cortex_m.quantizer import CortexMQuantizer

_LAST = torch.channels_last


class ConvNet(nn.Module):
    """A convolutional net with a residual block, pools and a linear head."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU6())
        self.second = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 1))
        self.head = nn.Linear(8 * 4 * 4, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        x = torch.relu(x + self.second(x))
        x = nn.functional.max_pool2d(x, 2)
        return torch.softmax(self.head(x.flatten(1)), 1)


class KeywordSpotter(nn.Module):
    """DS-CNN: a convolution, depthwise-separable blocks, a mean, a linear layer."""

    def __init__(self, width: int = 16, blocks: int = 2) -> None:
        super().__init__()
        layers: list[nn.Module] = [
            nn.Conv2d(1, width, (10, 4), stride=2, padding=(5, 1)),
            nn.BatchNorm2d(width),
            nn.ReLU(),
        ]
        for _ in range(blocks):
            layers += [nn.Conv2d(width, width, 3, padding=1, groups=width), nn.BatchNorm2d(width), nn.ReLU()]
            layers += [nn.Conv2d(width, width, 1), nn.BatchNorm2d(width), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 12))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class Perceptron(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.Linear(20, 30), nn.ReLU(), nn.Linear(30, 30), nn.Tanh(), nn.Linear(30, 5))


class Attention(nn.Module):
    """Matrix multiplications, a multiplication by a number, softmax and sigmoid."""

    def __init__(self) -> None:
        super().__init__()
        self.queries, self.keys, self.values = (nn.Linear(8, 8) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        scores = self.queries(x) @ self.keys(x).transpose(1, 2) * 0.35
        return torch.softmax(scores, -1) @ self.values(x) + torch.sigmoid(x) * x


class Images(nn.Module):
    """A transposed convolution, padding, a padded mean, hardswish, minimum and maximum."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1)
        self.conv = nn.Conv2d(4, 5, 3, dilation=2)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.pad(self.up(x), (1, 2, 0, 1), value=0.5)
        x = nn.functional.hardswish(self.conv(x))
        x = nn.functional.avg_pool2d(x, 3, 2, padding=1)
        return torch.maximum(torch.minimum(x, x * 0.5), x.clamp(-0.2, 0.3))


MODELS: dict[str, tuple[Any, tuple[int, ...], set[str]]] = {
    "conv net": (
        ConvNet,
        (1, 3, 16, 16),
        {"quantized_conv2d", "quantized_add", "quantized_max_pool2d", "quantized_linear", "softmax"},
    ),
    "keyword spotter": (
        KeywordSpotter,
        (1, 1, 49, 10),
        {"quantized_conv2d", "quantized_depthwise_conv2d", "quantized_avg_pool2d", "quantized_linear"},
    ),
    "perceptron": (Perceptron, (2, 20), {"quantized_linear", "quantized_activation"}),
    "attention": (
        Attention,
        (2, 5, 8),
        {
            *("quantized_linear", "quantized_batch_matmul", "quantized_mul", "quantized_add", "softmax", "transpose"),
            "quantized_activation",
        },
    ),
    "images": (
        Images,
        (1, 3, 9, 10),
        {
            *("quantized_transpose_conv2d", "quantized_conv2d", "pad", "quantized_activation", "quantized_avg_pool2d"),
            *("minimum", "maximum", "quantized_mul"),
        },
    ),
    "person detection": (
        PersonDetection,
        SHAPE,
        {"quantized_conv2d", "quantized_depthwise_conv2d", "quantized_avg_pool2d", "quantized_linear", "softmax"},
    ),
}


def inputs_of(shape: tuple[int, ...], seed: int = 0) -> tuple[Tensor]:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    return (x.to(memory_format=_LAST) if len(shape) == 4 else x,)


def quantized_by_cortex_m(model: nn.Module, shape: tuple[int, ...]) -> Any:
    captured = torch.export.export(model, inputs_of(shape)).module()
    prepared = prepare_pt2e(captured, CortexMQuantizer())
    for seed in range(4):
        prepared(*inputs_of(shape, seed))
    return convert_pt2e(prepared)


def model_of(name: str) -> tuple[nn.Module, tuple[int, ...]]:
    torch.manual_seed(0)
    kind, shape, _ = MODELS[name]
    model = kind().eval()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
    return model.to(memory_format=_LAST) if len(shape) == 4 else model, shape
