# SPDX-License-Identifier: BSD-3-Clause
"""Sums of two tensors, run and compared."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sdk.examples.cadence.command import main


class Add(nn.Module):
    """x + y."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


def model_and_inputs() -> tuple[nn.Module, tuple[Tensor, Tensor]]:
    """The sum of vectors."""
    return Add(), (torch.randn(16), torch.randn(16))


if __name__ == "__main__":
    main(model_and_inputs, run=True)
