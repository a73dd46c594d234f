# SPDX-License-Identifier: BSD-3-Clause
"""Inception v3."""

from __future__ import annotations

from torch import nn

from sdk.examples.models.image_model import ImageModel, of_torchvision


class InceptionV3Model(ImageModel):
    """Inception v3, trained on ImageNet."""

    def get_eager_model(self) -> nn.Module:
        """The module."""
        return of_torchvision("inception_v3")
