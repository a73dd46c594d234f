# SPDX-License-Identifier: BSD-3-Clause
"""Runs one model, mostly of operators that Fusion G3 has kernels for, and compares the results: arithmetic,
activations, softmax, norms and moves."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sdk.examples.cadence.command import main


class Operators(nn.Module):
    """The operators in one graph."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        z = torch.sigmoid(x * y - y) + torch.tanh(x / (y.abs() + 1))
        z = torch.softmax(self.norm(z), -1)
        return torch.cat((z.transpose(1, 2)[:, 1:5], z.mean(1, keepdim=True).permute(2, 0, 1).reshape(2, 4, -1)), 2)


def model_and_inputs() -> tuple[nn.Module, tuple[Tensor, Tensor]]:
    """The operators over two tensors."""
    return Operators(), (torch.randn(2, 3, 8), torch.randn(2, 3, 8))


if __name__ == "__main__":
    main(model_and_inputs, run=True)
