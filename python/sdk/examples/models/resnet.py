# SPDX-License-Identifier: BSD-3-Clause
"""Residual networks."""

from __future__ import annotations

from torch import nn

from sdk.examples.models.image_model import ImageModel, of_torchvision


class ResNet18Model(ImageModel):
    """ResNet with 18 layers, trained on ImageNet."""

    def get_eager_model(self) -> nn.Module:
        """The module."""
        return of_torchvision("resnet18")


class ResNet50Model(ImageModel):
    """ResNet with 50 layers, trained on ImageNet."""

    def get_eager_model(self) -> nn.Module:
        """The module."""
        return of_torchvision("resnet50")
