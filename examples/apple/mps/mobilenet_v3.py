# SPDX-License-Identifier: BSD-3-Clause
"""MobileNetV3-Small (arXiv:1905.02244, table 2) with random weights, in the channels of its first version."""

from __future__ import annotations

import torch
from torch import Tensor, nn

# Kernel size, expansion width, output width, squeeze-and-excitation, h-swish, stride.
_BLOCKS = (
    (3, 16, 16, True, False, 2),
    (3, 72, 24, False, False, 2),
    (3, 88, 24, False, False, 1),
    (5, 96, 40, True, True, 2),
    (5, 240, 40, True, True, 1),
    (5, 240, 40, True, True, 1),
    (5, 120, 48, True, True, 1),
    (5, 144, 48, True, True, 1),
    (5, 288, 96, True, True, 2),
    (5, 576, 96, True, True, 1),
    (5, 576, 96, True, True, 1),
)


def _convolution(
    inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1, activation: type[nn.Module] | None = None
) -> nn.Sequential:
    layers: list[nn.Module] = [
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs, eps=1e-3),
    ]
    return nn.Sequential(*layers, *([activation()] if activation else []))


class Squeeze(nn.Module):
    """Squeeze-and-excitation: scales each channel by a factor computed from the means of all channels."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        narrow = max(8, (channels // 4 + 4) // 8 * 8)
        self.layers = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(channels, narrow, 1),
            nn.ReLU(),
            nn.Conv2d(narrow, channels, 1),
            nn.Hardsigmoid(),
        )

    def forward(self, x: Tensor) -> Tensor:
        scaled: Tensor = x * self.layers(x)
        return scaled


class Block(nn.Module):
    """An inverted residual."""

    def __init__(self, inputs: int, kernel: int, wide: int, outputs: int, squeeze: bool, swish: bool, stride: int):
        super().__init__()
        activation = nn.Hardswish if swish else nn.ReLU
        layers: list[nn.Module] = [] if wide == inputs else [_convolution(inputs, wide, 1, activation=activation)]
        layers.append(_convolution(wide, wide, kernel, stride, wide, activation))
        layers += [Squeeze(wide)] if squeeze else []
        self.layers = nn.Sequential(*layers, _convolution(wide, outputs, 1))
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.layers(x)
        return x + result if self.residual else result


def mobilenet_v3_small(classes: int = 1000) -> nn.Module:
    """The network, for images of 3x224x224, ready for inference."""
    torch.manual_seed(0)
    layers: list[nn.Module] = [_convolution(3, 16, 3, 2, activation=nn.Hardswish)]
    width = 16
    for kernel, wide, outputs, squeeze, swish, stride in _BLOCKS:
        layers.append(Block(width, kernel, wide, outputs, squeeze, swish, stride))
        width = outputs
    layers += [_convolution(width, 576, 1, activation=nn.Hardswish), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    layers += [nn.Linear(576, 1024), nn.Hardswish(), nn.Linear(1024, classes)]
    return nn.Sequential(*layers).eval()
