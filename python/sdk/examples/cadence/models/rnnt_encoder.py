# SPDX-License-Identifier: BSD-3-Clause
"""The encoder of a speech recogniser: frames are joined in fours, then attention and convolutions over time."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdk.examples.cadence.command import main

FEATURES, STRIDE, WIDTH, HEADS = 40, 4, 128, 4


class Attention(nn.Module):
    """Attention of all frames to all frames."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape

        def split(values: Tensor) -> Tensor:
            return values.reshape(batch, length, self.heads, -1).transpose(1, 2)

        query, key, value = split(self.query(x)), split(self.key(x)), split(self.value(x))
        weights = torch.softmax(query @ key.transpose(2, 3) * (width // self.heads) ** -0.5, -1)
        return self.output((weights @ value).transpose(1, 2).reshape(batch, length, width))


class Layer(nn.Module):
    """Attention, a depthwise convolution over time, and a layer for each frame, each added to its input."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.attention = Attention(width, heads)
        self.convolution = nn.Conv1d(width, width, 5, padding=2, groups=width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norms[0](x))
        x = x + torch.relu(self.convolution(self.norms[1](x).transpose(1, 2))).transpose(1, 2)
        return x + self.down(F.relu(self.up(self.norms[2](x))))


class Encoder(nn.Module):
    """Frames (batch, length, features) become features of sound (batch, length / 4, width)."""

    def __init__(self, layers: int = 2) -> None:
        super().__init__()
        self.input = nn.Linear(FEATURES * STRIDE, WIDTH)
        self.layers = nn.Sequential(*(Layer(WIDTH, HEADS) for _ in range(layers)))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, frames: Tensor) -> Tensor:
        batch, length, features = frames.shape
        joined = frames.reshape(batch, length // STRIDE, features * STRIDE)
        return self.norm(self.layers(self.input(joined)))


def model_and_inputs() -> tuple[nn.Module, tuple[Tensor]]:
    """The encoder, and 32 frames."""
    return Encoder(), (torch.randn(1, 32, FEATURES),)


if __name__ == "__main__":
    main(model_and_inputs)
