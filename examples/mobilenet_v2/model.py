# SPDX-License-Identifier: BSD-3-Clause
"""MobileNetV2 (Sandler et al., 2018, arXiv:1801.04381, table 2) with random weights, in plain PyTorch.

Export it:  python -m sdk.export examples/mobilenet_v2/model.py:mobilenet_v2
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

# t: expansion, c: output channels, n: blocks, s: stride of the first block (table 2 of the paper).
_STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def _conv(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, groups=groups, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU6())


class InvertedResidual(nn.Module):
    """Expand, depthwise convolution, project: the block of section 3.3."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        self.expand = _conv(inputs, hidden, 1) if expansion != 1 else nn.Identity()
        self.depthwise = _conv(hidden, hidden, 3, stride, groups=hidden)
        self.project = nn.Sequential(nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        y = self.project(self.depthwise(self.expand(x)))
        return x + y if self.residual else y


class MobileNetV2(nn.Module):
    """Images (N, 3, H, W), normalised, to the scores (N, classes) of each class."""

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        layers: list[nn.Module] = [_conv(3, 32, 3, stride=2)]
        channels = 32
        for expansion, outputs, blocks, stride in _STAGES:
            for block in range(blocks):
                layers.append(InvertedResidual(channels, outputs, stride if block == 0 else 1, expansion))
                channels = outputs
        layers.append(_conv(channels, 1280, 1))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(1280, classes)

    def forward(self, image: Tensor) -> Tensor:
        return self.classifier(self.features(image).mean(dim=(2, 3)))


def mobilenet_v2() -> MobileNetV2:
    """The same random weights and running statistics on every call."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = MobileNetV2()
        for module in model.modules():
            # The activations of an untrained network decrease from layer to layer; this keeps their magnitude.
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.uniform_(module.running_mean, -0.1, 0.1)
                nn.init.uniform_(module.running_var, 0.5, 1.5)
    return model.eval()


def example_inputs() -> tuple[Tensor]:
    """One image of 224 x 224 pixels."""
    return (torch.randn(1, 3, 224, 224, generator=torch.Generator().manual_seed(0)),)
