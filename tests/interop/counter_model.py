# SPDX-License-Identifier: BSD-3-Clause
"""A model with state, for test_bench_engines.py."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Counter(nn.Module):
    """Adds its input to a buffer, which begins with 10, and returns the buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.full((4,), 10.0))

    def forward(self, step: Tensor) -> Tensor:
        self.count.add_(step)
        return self.count * 1.0


def counter() -> nn.Module:
    return Counter()


def example_inputs() -> tuple[Tensor, ...]:
    return (torch.ones(4),)
