# SPDX-License-Identifier: BSD-3-Clause
"""Models that tests of backends for NPUs lower, and how results are compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bench.models import MODELS as BENCHED
from bench.worker import load_model
from sdk.exir import EdgeProgramManager


class Function(torch.nn.Module):
    """A model that calls a function."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(*inputs)


class Convolutional(torch.nn.Module):
    """A small network for images, with a residual connection."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, stride=2, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU6()
        )
        self.second = torch.nn.Sequential(torch.nn.Conv2d(8, 8, 3, padding=1, groups=8), torch.nn.ReLU())
        self.third = torch.nn.Conv2d(8, 8, 1)
        self.head = torch.nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        x = torch.nn.functional.max_pool2d(self.third(self.second(x)) + x, 2)
        return self.head(x.mean((2, 3)))


class Vision(torch.nn.Module):
    """A transformer on patches of an image, with one layer."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.patches = torch.nn.Conv2d(3, width, 4, stride=4)
        self.token = torch.nn.Parameter(torch.randn(1, 1, width))
        self.places = torch.nn.Parameter(0.1 * torch.randn(1, 17, width))
        self.attention = torch.nn.MultiheadAttention(width, 2, batch_first=True)
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(3))
        self.perceptron = torch.nn.Sequential(
            torch.nn.Linear(width, 2 * width), torch.nn.GELU(), torch.nn.Linear(2 * width, width)
        )
        self.head = torch.nn.Linear(width, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token, x], 1) + self.places
        y = self.norms[0](x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        x = x + self.perceptron(self.norms[1](x))
        return self.head(self.norms[2](x)[:, 0])


class Block(torch.nn.Module):
    """A layer of a decoder: RMS norm, attention over the tokens before, and a gated perceptron."""

    def __init__(self, width: int = 16, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (torch.nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = (torch.nn.Linear(width, 2 * width, bias=False) for _ in range(2))
        self.down = torch.nn.Linear(2 * width, width, bias=False)

    @staticmethod
    def norm(x: Tensor) -> Tensor:
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)

    def split(self, x: Tensor) -> Tensor:
        return x.reshape(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x)
        q, k, v = (self.split(layer(y)) for layer in (self.query, self.key, self.value))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        y = self.norm(x)
        return x + self.down(torch.nn.functional.silu(self.gate(y)) * self.up(y))


class Decoder(torch.nn.Module):
    """Two layers on token ids."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(32, 16)
        self.blocks = torch.nn.Sequential(Block(), Block())
        self.head = torch.nn.Linear(16, 32, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.blocks(self.table(ids)))


MODELS: dict[str, tuple[type[torch.nn.Module], tuple[Tensor, ...]]] = {
    "convolutional": (Convolutional, (torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(1)),)),
    "vision": (Vision, (torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(1)),)),
    "decoder": (Decoder, (torch.tensor([[3, 1, 4, 1, 5, 9]]),)),
}


def model_of(name: str) -> tuple[torch.nn.Module, tuple[Tensor, ...]]:
    torch.manual_seed(0)
    make, inputs = MODELS[name]
    return make().eval(), inputs


LARGE = ("MobileNetV2", "ResNet18", "ViT-tiny")


def large_model_of(name: str) -> tuple[torch.nn.Module, tuple[Tensor, ...]]:
    """A model of `LARGE` with random weights. Images of the convolutional nets have 64 x 64 pixels."""
    model, inputs = load_model(BENCHED[name])
    return model, inputs if name == "ViT-tiny" else (torch.randn(1, 3, 64, 64),)


def written(manager: EdgeProgramManager, folder: Path) -> Path:
    file = folder / "model.pte"
    file.write_bytes(manager.to_executorch().buffer)
    return file


def snr(expected: Tensor, found: Tensor) -> float:
    """Returns the signal-to-noise ratio in decibels; infinite if both are equal."""
    expected = expected.detach().double()
    noise = (expected - found).square().mean()
    return float(10 * torch.log10(expected.square().mean() / noise))
