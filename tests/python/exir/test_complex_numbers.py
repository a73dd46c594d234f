# SPDX-License-Identifier: BSD-3-Clause
"""Complex numbers as arguments, as in vocoders. Programs represent them as tensors, because there is no complex
Scalar."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim, export

from sdk.exir import to_edge
from sdk.runtime import Runtime

CALLS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "a spectrum": lambda x, y: x * (torch.cos(y) + 1j * torch.sin(y)),
    "exp": lambda x, y: torch.exp(y * 1j) * x,
    "sum": lambda x, y: torch.complex(x, y) + (1 - 2j),
    "difference": lambda x, y: 1j - x,
    "quotient": lambda x, y: torch.complex(x, y) / 2j,
    "full": lambda x, y: torch.full(x.shape, 1 + 1j) * x,
    "full of complex128": lambda x, y: torch.full((3,), 0.1j, dtype=torch.complex128) * x,
    "where": lambda x, y: torch.where(x > 0, torch.complex(x, y), 1j),
    "masked_fill": lambda x, y: torch.complex(x, y).masked_fill(x > 0, 2 - 1j),
}


class Call(nn.Module):
    def __init__(self, function: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        result = self.function(x, y)
        return torch.view_as_real(result) if result.is_complex() else result


def _check(function: Callable[[Tensor, Tensor], Tensor], *examples: tuple[Tensor, Tensor]) -> None:
    model, rows = Call(function), {0: Dim("rows", min=1, max=8)}
    program = export(model, examples[0], dynamic_shapes={"x": rows, "y": rows})
    method = Runtime.get().load_program(to_edge(program).to_executorch().buffer).load_method("forward")
    for example in examples:
        torch.testing.assert_close(method.execute(example)[0], model(*example))


@pytest.mark.sampled
@pytest.mark.parametrize("name", CALLS)
def test_a_complex_number(name: str) -> None:
    torch.manual_seed(0)
    _check(CALLS[name], *((torch.randn(rows, 3), torch.randn(rows, 3)) for rows in (4, 1, 8)))


@pytest.mark.parametrize("equal", [True, False])
def test_comparisons(equal: bool) -> None:
    x, y = torch.tensor([[0.0, 1.0], [0.0, 0.0]]), torch.tensor([[1.0, 1.0], [1.0, 0.0]])
    _check(lambda x, y: (torch.complex(x, y) == 1j) if equal else (torch.complex(x, y) != 1j), (x, y), (y, x))
