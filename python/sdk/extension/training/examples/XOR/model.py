# SPDX-License-Identifier: BSD-3-Clause
"""The net, and the net with its loss."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Net(nn.Module):
    """Computes the scores of the answers 0 and 1 from two numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 10)
        self.linear2 = nn.Linear(10, 2)

    def forward(self, x: Tensor) -> Tensor:
        """Takes [points, 2] and returns [points, 2]."""
        scores: Tensor = self.linear2(torch.sigmoid(self.linear(x)))
        return scores


class TrainingNet(nn.Module):
    """The net for training. The loss is the first output."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net
        self.loss = nn.CrossEntropyLoss()

    def forward(self, input: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        """The loss for int64 [points] answers, and the answers of the net."""
        scores = self.net(input)
        return self.loss(scores, label), scores.detach().argmax(dim=1)
