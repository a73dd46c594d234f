# SPDX-License-Identifier: BSD-3-Clause
"""Programs with a dynamic number of rows give PyTorch's results for zero rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.export import Dim, export

from sdk.exir import to_edge
from sdk.runtime import Runtime

FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "logsumexp": lambda x: x.logsumexp(0),
    "logsumexp of halves": lambda x: x.half().logsumexp(0),
    "logsumexp of integers": lambda x: x.int().logsumexp(0),
    "logsumexp, kept": lambda x: x.logsumexp(-2, keepdim=True),
    "logsumexp of rows": lambda x: x.logsumexp(1),
    "logsumexp of columns": lambda x: x.t().logsumexp(1),
    "logsumexp of all": lambda x: x.logsumexp((0, 1)),
    "logsumexp of a matrix of no rows and columns": lambda x: (x @ x.t()).logsumexp((0, 1)),
    "median": lambda x: x.median(),
    "median of halves": lambda x: x.half().median(),
    "nanmedian": lambda x: x.nanmedian(),
    "rolled": lambda x: x.roll(1, 0),
    "rolled back": lambda x: x.roll(-9, 0),
    "rolled twice": lambda x: x.roll((2, 1), (1, 0)),
    "rolled flat": lambda x: x.roll(3),
}

# Eager rounds each exponential and the sum to halves, programs compute in float32.
TOLERANCE: dict[str, dict[str, float]] = {name: {} for name in FUNCTIONS} | {
    "logsumexp of halves": {"rtol": 4e-3, "atol": 1e-3}
}


class Call(torch.nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


@pytest.mark.sampled
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_rows(name: str) -> None:
    function = FUNCTIONS[name]
    x = torch.linspace(-2, 3, 24).sin().reshape(6, 4)
    with_nan, with_infinities = x.clone(), x.clone()
    with_nan[2, 1] = torch.nan
    with_infinities[:, 0], with_infinities[1, 1] = -torch.inf, torch.inf
    program = export(Call(function), (x,), dynamic_shapes=({0: Dim("rows", min=0, max=8)},))
    method = Runtime.get().load_program(to_edge(program).to_executorch().buffer).load_method("forward")
    inputs = [x[:0], x, x[:1], x[:2], x[:5], x[:0]]
    if "integers" not in name:
        inputs += [with_nan, with_infinities]
    for given in inputs:
        torch.testing.assert_close(method.execute([given])[0], function(given), equal_nan=True, **TOLERANCE[name])
