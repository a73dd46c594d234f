# SPDX-License-Identifier: BSD-3-Clause
"""The predictor of a speech recogniser: embeddings, linear layers, ReLU, layer norm."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sdk.examples.cadence.command import main

SYMBOLS, WIDTH = 128, 256


class Predictor(nn.Module):
    """Symbols (batch, length) become features (batch, length, width)."""

    def __init__(self, symbols: int = SYMBOLS, width: int = WIDTH) -> None:
        super().__init__()
        self.embedding = nn.Embedding(symbols, width)
        self.first_norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.hidden, self.output = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, symbols: Tensor) -> Tensor:
        x = self.first_norm(self.embedding(symbols))
        return self.second_norm(self.output(torch.relu(self.hidden(x))))


def model_and_inputs() -> tuple[nn.Module, tuple[Tensor]]:
    """The predictor, and ten symbols."""
    return Predictor(), (torch.randint(0, SYMBOLS, (1, 10)),)


if __name__ == "__main__":
    main(model_and_inputs)
