# SPDX-License-Identifier: BSD-3-Clause
"""A small image classifier for a microcontroller: 12 x 12 grey pixels to the probabilities of ten classes.

Export it:  python examples/cortex_m/export_model.py --output build/tiny
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class TinyClassifier(nn.Module):
    """Images (1, 1, 12, 12) to probabilities (1, 10). About 1,800 random weights, because the example only shows that
    the model runs."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.features = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(6 * 5 * 5, 10)

    def forward(self, image: Tensor) -> Tensor:
        return torch.softmax(self.head(self.features(image).flatten(1)), dim=1)


def example_inputs() -> tuple[Tensor, ...]:
    return (torch.linspace(-1, 1, 144).sin().reshape(1, 1, 12, 12),)
