# SPDX-License-Identifier: BSD-3-Clause
"""CifarNet with random weights: three convolutions and pools on images of 32 x 32 pixels, and ten classes."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class CifarNet(nn.Module):
    """The network of NXP's example for ExecuTorch."""

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv2d(*sizes, 5, padding=2) for sizes in ((3, 32), (32, 32), (32, 64)))
        self.pools = nn.ModuleList((nn.MaxPool2d(2), nn.MaxPool2d(2), nn.MaxPool2d(1, 2)))
        self.head = nn.Linear(1024, 10)

    def forward(self, x: Tensor) -> Tensor:
        for convolution, pool in zip(self.convolutions, self.pools, strict=True):
            x = pool(convolution(x))
        return torch.softmax(self.head(x.reshape(-1, 1024)), 1)


def cifar_net() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """The model and example inputs."""
    torch.manual_seed(0)
    return CifarNet().eval(), (torch.randn(1, 3, 32, 32),)
