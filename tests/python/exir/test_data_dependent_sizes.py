# SPDX-License-Identifier: BSD-3-Clause
"""Casts, clones, arithmetic and reductions of tensors whose sizes depend on data, from no row to all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import export

from sdk.exir import to_edge
from sdk.runtime import Runtime


class Call(nn.Module):
    def __init__(self, function: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Any:
        return self.function(x)


def rows(x: Tensor) -> Tensor:
    return x[x.flatten(1)[:, 0] > 0.5]


FUNCTIONS: dict[str, tuple[Callable[[Tensor], Any], tuple[int, ...]]] = {
    "indices as floats": (lambda x: (x > 0.5).nonzero().float(), (3, 4)),
    "indices as int32": (lambda x: (x > 0.5).nonzero().int(), (3, 4)),
    "indices, divided": (lambda x: (x > 0.5).nonzero() / 2, (3, 4)),
    "indices, transposed": (lambda x: (x > 0.5).nonzero().t().clone(), (3, 4)),
    "argwhere": (lambda x: torch.argwhere(x > 0.5) * 2 + 1, (3, 4, 2)),
    "masked": (lambda x: x[x > 0.5].half() * 2, (3, 4)),
    "rows": (lambda x: rows(x).clone(), (3, 4)),
    "rows as halves": (lambda x: rows(x).half(), (3, 4)),
    "rows, transposed": (lambda x: rows(x).t().clone(), (3, 4)),
    "rows, transposed and contiguous": (lambda x: rows(x).t().contiguous(), (3, 4)),
    "rows, transposed, as doubles": (lambda x: rows(x).t().double() * 2, (3, 4)),
    "rows, exponential": (lambda x: rows(x).t().relu().exp(), (3, 4)),
    "two dtypes": (lambda x: rows(x) + rows(x).double() + torch.arange(4), (3, 4)),
    "matrices": (lambda x: rows(x).permute(2, 0, 1).clone(), (3, 4, 2)),
    "matrices, transposed, as doubles": (lambda x: rows(x).transpose(1, 2).double(), (3, 4, 2)),
    "images in channels last": (lambda x: rows(x).to(memory_format=torch.channels_last).half(), (3, 4, 2, 2)),
    "ones": (lambda x: torch.ones_like(rows(x).t()), (3, 4)),
    "where": (lambda x: torch.where(rows(x) > 0.7, rows(x), 0.0), (3, 4)),
    "sum": (lambda x: rows(x).double().sum(0), (3, 4)),
    "product": (lambda x: rows(x).t() @ rows(x), (3, 4)),
    "stack": (lambda x: torch.stack([rows(x), rows(x) * 2], 1).float(), (3, 4)),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", FUNCTIONS)
def test_sizes_that_depend_on_data(name: str) -> None:
    function, shape = FUNCTIONS[name]
    torch.manual_seed(0)
    x = torch.rand(shape)
    lowered = to_edge(export(Call(function), (x,))).to_executorch()
    method = Runtime.get().load_program(lowered.buffer).load_method("forward")
    for each in (x, torch.zeros(shape), torch.ones(shape), torch.ones(shape).masked_fill(torch.rand(shape) < 0.4, 0)):
        (found,) = method.execute([each])
        torch.testing.assert_close(found, function(each))
