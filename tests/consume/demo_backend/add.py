# SPDX-License-Identifier: BSD-3-Clause
"""Exports a program for the demo backend."""

import torch


class Add(torch.nn.Module):
    """x + y"""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


def example_inputs() -> tuple[torch.Tensor, ...]:
    return (torch.ones(2, 3), torch.ones(2, 3))
