# SPDX-License-Identifier: BSD-3-Clause
"""Requantises values from one dtype to another; the program is run and compared."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import sdk.backends.cadence.aot.ops_registrations  # noqa: F401  (registers the operators)
from sdk.examples.cadence.command import main


class Requantize(nn.Module):
    """Requantises int8 with one scale to uint8 with another."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.cadence.requantize.per_tensor(x, 0.1, 3, 0.2, 128, torch.uint8)


def model_and_inputs() -> tuple[nn.Module, tuple[Tensor]]:
    """Integers over the range of int8."""
    return Requantize(), (torch.arange(-128, 128, 5).to(torch.int8),)


if __name__ == "__main__":
    main(model_and_inputs, run=True)
