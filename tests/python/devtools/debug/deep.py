# SPDX-License-Identifier: BSD-3-Clause
"""A model of 50 layers for `sdk.debug model.py:deep`, without and with deliberate defects."""

from __future__ import annotations

import torch
from torch import nn


class Block(nn.Module):
    """A convolution, a norm and an activation, each on a separate line."""

    def __init__(self, number: int, activation: nn.Module) -> None:
        super().__init__()
        self.number = number
        self.conv = nn.Conv2d(8, 8, 3, padding=1)
        self.activation = activation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        y = self.activation(y)
        return x + y if self.number % 3 == 0 else y


class Deep(nn.Module):
    """24 blocks of two layers, a stem and a head."""

    def __init__(self, activations: list[nn.Module]) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.blocks = nn.ModuleList(Block(i, activation) for i, activation in enumerate(activations))
        self.head = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((2, 3)))


def deep(odd: int | None = None) -> Deep:
    """The model; block number `odd` has tanh in place of the sigmoid."""
    torch.manual_seed(0)
    return Deep([nn.Tanh() if i == odd else nn.Sigmoid() for i in range(24)]).eval()


def example_inputs() -> tuple[torch.Tensor]:
    return (torch.linspace(-3, 3, 3 * 12 * 12).sin().reshape(1, 3, 12, 12),)
