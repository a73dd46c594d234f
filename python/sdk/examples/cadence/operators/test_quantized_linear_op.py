# SPDX-License-Identifier: BSD-3-Clause
"""A quantised linear layer of 32 inputs and 16 outputs, run and compared."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sdk.examples.cadence.command import main


def model_and_inputs() -> tuple[nn.Module, tuple[Tensor]]:
    """The layer, and rows of a batch."""
    return nn.Linear(32, 16), (torch.randn(1, 4, 32),)


if __name__ == "__main__":
    main(model_and_inputs, run=True)
