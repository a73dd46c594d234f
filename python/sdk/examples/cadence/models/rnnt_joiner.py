# SPDX-License-Identifier: BSD-3-Clause
"""The joiner of a speech recogniser: sums of the features of sound and of symbols become scores."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sdk.examples.cadence.command import main

WIDTH, SYMBOLS = 128, 64


class Joiner(nn.Module):
    """Features (batch, frames, width) and (batch, length, width) become scores (batch, frames, length, symbols)."""

    def __init__(self, width: int = WIDTH, symbols: int = SYMBOLS) -> None:
        super().__init__()
        self.scores = nn.Linear(width, symbols)

    def forward(self, sound: Tensor, symbols: Tensor) -> Tensor:
        joined = sound.unsqueeze(2) + symbols.unsqueeze(1)
        return torch.log_softmax(self.scores(torch.relu(joined)), -1)


def model_and_inputs() -> tuple[nn.Module, tuple[Tensor, Tensor]]:
    """The joiner, with 8 frames and 4 symbols."""
    return Joiner(), (torch.randn(1, 8, WIDTH), torch.randn(1, 4, WIDTH))


if __name__ == "__main__":
    main(model_and_inputs)
