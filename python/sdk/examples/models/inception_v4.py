# SPDX-License-Identifier: BSD-3-Clause
"""Inception v4."""

from __future__ import annotations

from torch import nn

from sdk.examples.models.image_model import ImageModel, of_timm


class InceptionV4Model(ImageModel):
    """Inception v4, trained on ImageNet."""

    size = 299

    def get_eager_model(self) -> nn.Module:
        """The module."""
        return of_timm("inception_v4")
