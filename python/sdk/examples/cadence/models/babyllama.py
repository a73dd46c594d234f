# SPDX-License-Identifier: BSD-3-Clause
"""A small language model: RMS norm, rotary embeddings, causal attention, a gated layer."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdk.examples.cadence.command import main

TOKENS, WIDTH, HEADS, LENGTH = 512, 64, 4, 16


def _rotate(x: Tensor, sines: Tensor, cosines: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return torch.cat((first * cosines - second * sines, first * sines + second * cosines), -1)


class Block(nn.Module):
    """A layer of the model."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first_norm, self.second_norm = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.query, self.key, self.value, self.output = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x: Tensor, sines: Tensor, cosines: Tensor, mask: Tensor) -> Tensor:
        batch, length, width = x.shape
        normal = self.first_norm(x)
        query, key, value = (
            layer(normal).reshape(batch, length, self.heads, -1).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        query, key = _rotate(query, sines, cosines), _rotate(key, sines, cosines)
        scores = query @ key.transpose(2, 3) * (width // self.heads) ** -0.5 + mask
        attended = (torch.softmax(scores, -1) @ value).transpose(1, 2).reshape(batch, length, width)
        x = x + self.output(attended)
        normal = self.second_norm(x)
        return x + self.down(F.silu(self.gate(normal)) * self.up(normal))


class BabyLlama(nn.Module):
    """Tokens (batch, length) become logits (batch, length, vocabulary)."""

    def __init__(self, layers: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, WIDTH)
        self.layers = nn.ModuleList(Block(WIDTH, HEADS) for _ in range(layers))
        self.norm = nn.RMSNorm(WIDTH, eps=1e-5)
        self.scores = nn.Linear(WIDTH, TOKENS, bias=False)
        half = WIDTH // HEADS // 2
        angles = torch.arange(LENGTH)[:, None] * 10000.0 ** (-torch.arange(half) / half)
        self.register_buffer("sines", angles.sin())
        self.register_buffer("cosines", angles.cos())
        self.register_buffer("mask", torch.full((LENGTH, LENGTH), -1e4).triu(1))

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, self.sines, self.cosines, self.mask)
        return self.scores(self.norm(x))


def model_and_inputs() -> tuple[nn.Module, tuple[Tensor]]:
    """The model, with random weights, and sixteen tokens."""
    return BabyLlama(), (torch.randint(0, TOKENS, (1, LENGTH)),)


if __name__ == "__main__":
    main(model_and_inputs)
