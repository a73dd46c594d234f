# SPDX-License-Identifier: BSD-3-Clause
"""A model of microcontrollers that tests of several backends lower."""

from __future__ import annotations

from torch import nn

WIDTHS = ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1))
"""The output channels and the stride of each depthwise-separable block."""
SHAPE = (1, 1, 96, 96)


class PersonDetection(nn.Sequential):
    """MobileNetV1 of a quarter of the width for grey images of 96 x 96 and two classes, as in Visual Wake Words. The
    random weights keep the variance of the activations, so that the results depend on the image."""

    def __init__(self) -> None:
        layers: list[nn.Module] = [nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU6()]
        width = 8
        for wide, stride in WIDTHS:
            layers += [nn.Conv2d(width, width, 3, stride, padding=1, groups=width), nn.ReLU6()]
            layers += [nn.Conv2d(width, wide, 1), nn.ReLU6()]
            width = wide
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 2), nn.Softmax(-1))
        for layer in layers:
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
