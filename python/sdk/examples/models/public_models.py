# SPDX-License-Identifier: BSD-3-Clause
"""Models that examples of backends export: those of torchvision, and the small ones of this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from sdk.examples.models import MODEL_NAME_TO_MODEL
from sdk.examples.models.model_factory import EagerModelFactory

TOYS = [name for name, (module, _) in MODEL_NAME_TO_MODEL.items() if module == "toy_model"]
"""The models of a few operators."""


def create(
    name: str, torchvision: Mapping[str, tuple[str, int]], random_weights: bool
) -> tuple[torch.nn.Module, tuple[Any, ...]]:
    """A model in evaluation mode, and inputs.

    Args:
        name: One of `torchvision`, or of `TOYS`.
        torchvision: The constructor of each model of torchvision, and the size of its images.
        random_weights: Whether no trained weights are downloaded.
    """
    if name in TOYS:
        model, inputs, _, _ = EagerModelFactory.create_model(*MODEL_NAME_TO_MODEL[name])
        return model.eval(), inputs
    from torchvision.models import get_model  # type: ignore[import-not-found, import-untyped, unused-ignore]

    constructor, size = torchvision[name]
    model = get_model(constructor, weights=None if random_weights else "DEFAULT")
    return model.eval(), (torch.randn(1, 3, size, size),)
