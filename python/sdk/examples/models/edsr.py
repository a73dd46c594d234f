# SPDX-License-Identifier: BSD-3-Clause
"""EDSR: super-resolution, pictures of twice the size."""

from __future__ import annotations

from torch import nn

from sdk.examples.models.image_model import ImageModel


class EdsrModel(ImageModel):
    """EDSR with 16 blocks of 64 channels, of the package torchsr."""

    def get_eager_model(self) -> nn.Module:
        """The module."""
        from torchsr.models import edsr_r16f64  # type: ignore[import-not-found, import-untyped, unused-ignore]

        model: nn.Module = edsr_r16f64(2, True)
        return model
