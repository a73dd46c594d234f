# SPDX-License-Identifier: BSD-3-Clause
"""Inputs that are numbers: integers that stay variable, and numbers that are built into the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim, export

from sdk.exir import to_edge
from sdk.exir.schema import Bool, Double, Int, Null
from sdk.extension.pybindings.portable_lib import ExecuTorchError
from sdk.runtime import Runtime

X = torch.arange(24.0).reshape(8, 3)


class Call(nn.Module):
    def __init__(self, function: Callable[[Tensor, Any], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor, n: Any) -> Tensor:
        if not isinstance(n, bool | float):
            torch._check(n >= 0)
            torch._check(n <= 8)
        return self.function(x, n)


def _lowered(function: Callable[[Tensor, Any], Tensor], number: Any) -> tuple[Any, Any]:
    """The method, and the value that the program has for the number."""
    shape = Dim.DYNAMIC if type(number) is int else None
    program = to_edge(export(Call(function), (X, number), dynamic_shapes=({}, shape))).to_executorch()
    plan = program.executorch_program.execution_plan[0]
    return Runtime.get().load_program(program.buffer).load_method("forward"), plan.values[plan.inputs[1]].val


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: x[:1].expand(n, 3) * 2,
        lambda x, n: torch.zeros(n) + x.sum(),
        lambda x, n: torch.full((n, 2), 1.5) + n,
        lambda x, n: x[:2].repeat(n, 1),
        lambda x, n: torch.zeros(n + 1, n) + x[0, 1],
        lambda x, n: x[:n] * 2,
        lambda x, n: torch.arange(n) + x.sum(),
        lambda x, n: x * n,
    ],
    ids=["expand", "zeros", "full", "repeat", "sum", "slice", "arange", "product"],
)
def test_an_integer_that_is_a_size(function: Callable[[Tensor, Any], Tensor]) -> None:
    method, value = _lowered(function, 3)
    assert value == Int(3)  # the example's, with which ExecuTorch's runtime accepts the input
    for number in (3, 6, 1, 8):
        torch.testing.assert_close(method.execute((X, number))[0], function(X, number))
    for wrong, kind in ((2.0, "Double"), (True, "Bool"), (None, "None")):
        with pytest.raises(ExecuTorchError, match=f"Input 1 must be of type Int, found {kind}"):
            method.execute((X, wrong))


def test_a_number_that_nothing_uses() -> None:
    method, value = _lowered(lambda x, n: x * 2, 3)
    assert value == Null()
    for number in (3, 5):
        torch.testing.assert_close(method.execute((X, number))[0], X * 2)


@pytest.mark.parametrize("number, value, other", [(2.5, Double(2.5), 3.5), (True, Bool(True), False)])
def test_numbers_that_are_built_in(number: Any, value: Any, other: Any) -> None:
    """torch.export has no variable floats and bools."""
    function: Callable[[Tensor, Any], Tensor] = lambda x, n: x * n if n else x  # noqa: E731
    method, built_in = _lowered(function, number)
    assert built_in == value
    torch.testing.assert_close(method.execute((X, number))[0], function(X, number))
    with pytest.raises(ExecuTorchError, match=r"Input 1 has the value (2\.5|true) built in since the export"):
        method.execute((X, other))
