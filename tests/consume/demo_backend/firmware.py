# SPDX-License-Identifier: BSD-3-Clause
"""The model that the firmware runs. `firmware.py FOLDER` writes model_case.h for examples/cortex_m: an input, and what
PyTorch computes from it."""

import sys
from pathlib import Path

import torch


class Product(torch.nn.Module):
    """(x + 1) relu(x): the product is for the backend, the rest for kernels."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + 1) * torch.relu(x)


def example_inputs() -> tuple[torch.Tensor, ...]:
    return (torch.linspace(-2, 3, 8).reshape(2, 4),)


if __name__ == "__main__":
    from export_model import CASE, numbers  # of examples/cortex_m

    (x,) = example_inputs()
    case = CASE.format(inputs=numbers(x), expected=numbers(Product()(x)))
    Path(sys.argv[1], "model_case.h").write_text(case, encoding="utf-8")
