# SPDX-License-Identifier: BSD-3-Clause
"""A recurrent network."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from sdk.examples.models.model_base import EagerModelBase


class LSTMModel(EagerModelBase):
    """Two layers of PyTorch's LSTM whose cells can be quantised, with random weights."""

    def __init__(self) -> None:
        super().__init__()

    def get_eager_model(self) -> nn.Module:
        """The module."""
        from torch.ao.nn.quantizable import LSTM

        return LSTM(10, 20, 2)

    def get_example_inputs(self) -> tuple[Any, ...]:
        """Five steps of a batch of three, and the states of the layers."""
        return torch.randn(5, 3, 10), (torch.randn(2, 3, 20), torch.randn(2, 3, 20))
