# SPDX-License-Identifier: BSD-3-Clause
"""Operators of Core ATen that promote dtypes, which the kernels of edge dialect do not."""

from __future__ import annotations

import torch

from sdk.exir import to_edge
from sdk.runtime import Runtime


class Cat(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, y, x], dim=-1)


def test_cat_of_integers_and_floats_gives_floats() -> None:
    inputs = torch.tensor([1, 2, 2**24 + 1]), torch.tensor([0.5, float("nan")])
    program = to_edge(torch.export.export(Cat(), inputs)).to_executorch()
    (found,) = Runtime.get().load_program(program.buffer).load_method("forward").execute(inputs)
    torch.testing.assert_close(found, Cat()(*inputs), rtol=0, atol=0, equal_nan=True)
