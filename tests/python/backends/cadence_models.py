# SPDX-License-Identifier: BSD-3-Clause
"""Small models on which cadence is tested."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 8, 3, groups=8)
        self.head = nn.Linear(8 * 3 * 3, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.max_pool2d(torch.relu(self.first(x)), 2)
        return self.head(torch.relu(self.second(x)).flatten(1))


class Keyword(nn.Module):
    """A convolution over time, a sum and a concatenation."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(8, 8, 3, padding=1)
        self.depth = nn.Conv1d(8, 8, 3, padding=1, groups=8)
        self.head = nn.Linear(16 * 12, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.conv(x))
        return self.head(torch.cat((y + self.depth(y), y), 1).flatten(1))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.query, self.key = nn.Linear(16, 8), nn.Linear(16, 8, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(x)
        return torch.softmax(self.query(x) @ self.key(x).transpose(1, 2), -1)


_MODELS: dict[str, tuple[type[nn.Module], tuple[int, ...]]] = {
    "conv": (ConvNet, (1, 3, 10, 10)),
    "keyword": (Keyword, (1, 8, 12)),
    "attention": (Attention, (2, 5, 16)),
}


def model_and_inputs(name: str) -> tuple[nn.Module, tuple[Tensor]]:
    kind, shape = _MODELS[name]
    torch.manual_seed(3)
    return kind().eval(), (torch.randn(shape),)
