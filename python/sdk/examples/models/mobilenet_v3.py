# SPDX-License-Identifier: BSD-3-Clause
"""MobileNetV3."""

from __future__ import annotations

from torch import nn

from sdk.examples.models.image_model import ImageModel, of_torchvision


class MV3Model(ImageModel):
    """The small MobileNetV3, trained on ImageNet."""

    def get_eager_model(self) -> nn.Module:
        """The module."""
        return of_torchvision("mobilenet_v3_small")
