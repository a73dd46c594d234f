# SPDX-License-Identifier: BSD-3-Clause
"""A quantised convolution over time of 8 channels and 16 results, run and compared."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sdk.examples.cadence.command import main


def model_and_inputs() -> tuple[nn.Module, tuple[Tensor]]:
    """The convolution, and a signal."""
    return nn.Conv1d(8, 16, 16), (torch.randn(1, 8, 33),)


if __name__ == "__main__":
    main(model_and_inputs, run=True)
