# SPDX-License-Identifier: BSD-3-Clause
"""DeepLabV3: the class of each pixel."""

from __future__ import annotations

from torch import nn

from sdk.examples.models.image_model import ImageModel, of_torchvision


class DeepLabV3ResNet50Model(ImageModel):
    """DeepLabV3 on a ResNet with 50 layers."""

    def get_eager_model(self) -> nn.Module:
        """The module."""
        return of_torchvision("deeplabv3_resnet50")


class DeepLabV3ResNet101Model(ImageModel):
    """DeepLabV3 on a ResNet with 101 layers."""

    def get_eager_model(self) -> nn.Module:
        """The module."""
        return of_torchvision("deeplabv3_resnet101")
