# SPDX-License-Identifier: BSD-3-Clause
"""The smallest DeiT."""

from __future__ import annotations

from torch import nn

from sdk.examples.models.image_model import ImageModel, of_timm


class DeiTTinyModel(ImageModel):
    """DeiT with patches of 16 x 16 pixels, trained on ImageNet."""

    def get_eager_model(self) -> nn.Module:
        """The module."""
        return of_timm("deit_tiny_patch16_224")
