# SPDX-License-Identifier: BSD-3-Clause
"""MobileNetV2."""

from __future__ import annotations

from torch import nn

from sdk.examples.models.image_model import ImageModel, of_torchvision


class MV2Model(ImageModel):
    """MobileNetV2, trained on ImageNet."""

    def get_eager_model(self) -> nn.Module:
        """The module."""
        return of_torchvision("mobilenet_v2")


class MV2UntrainedModel(ImageModel):
    """MobileNetV2 with random weights, which needs no download."""

    def get_eager_model(self) -> nn.Module:
        """The module."""
        return of_torchvision("mobilenet_v2", trained=False)
