# SPDX-License-Identifier: BSD-3-Clause
"""Vision transformers."""

from __future__ import annotations

from torch import nn

from sdk.examples.models.image_model import ImageModel, of_torchvision


class TorchVisionViTModel(ImageModel):
    """ViT-B/16, trained on ImageNet."""

    def get_eager_model(self) -> nn.Module:
        """The module."""
        return of_torchvision("vit_b_16")
