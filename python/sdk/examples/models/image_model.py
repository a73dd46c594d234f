# SPDX-License-Identifier: BSD-3-Clause
"""The common code of the models whose only input is a picture: those of torchvision, timm and torchsr."""

from __future__ import annotations

import torch

from sdk.examples.models.model_base import EagerModelBase


class ImageModel(EagerModelBase):
    """A model of one picture. Its trained weights are downloaded by the library that has the model."""

    size = 224
    """Height and width of the picture, in pixels."""

    def __init__(self) -> None:
        super().__init__()

    def get_example_inputs(self) -> tuple[torch.Tensor, ...]:
        """A picture, [1, 3, size, size]."""
        return (torch.randn(1, 3, self.size, self.size),)


def of_torchvision(name: str, trained: bool = True) -> torch.nn.Module:
    """A model of torchvision, with its default weights or with random ones."""
    from torchvision.models import get_model  # type: ignore[import-not-found, import-untyped, unused-ignore]

    model: torch.nn.Module = get_model(name, weights="DEFAULT" if trained else None)
    return model


def of_timm(name: str) -> torch.nn.Module:
    """A model of timm with its weights."""
    from timm import create_model  # type: ignore[import-not-found, import-untyped, unused-ignore]

    model: torch.nn.Module = create_model(name, pretrained=True)
    return model
