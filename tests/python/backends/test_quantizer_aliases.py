# SPDX-License-Identifier: BSD-3-Clause
"""Writes in place to tensors that share memory with others, and their gradients, before anything is quantised."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim, export
from torch.fx import GraphModule

from sdk.backends.quantizer.writes import replace_writes

SHAPE = (4, 6)
Forward = Callable[[Any, Tensor], Tensor]


class States(nn.Module):
    """Two states, a layer and a parameter, with which it does what it is told."""

    def __init__(self, forward: Forward) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(6, 6)
        self.alpha = nn.Parameter(torch.rand(6))
        self.register_buffer("a", torch.rand(SHAPE))
        self.register_buffer("b", torch.rand(SHAPE))
        self.function = forward

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self, x)


def _delay_line(m: Any, x: Tensor) -> Tensor:
    with torch.no_grad():
        m.a.copy_(m.b)
        m.b.copy_(x)
    result: Tensor = m.linear(m.a)
    return result


def _last_row(m: Any, x: Tensor) -> Tensor:
    h: Tensor = m.linear(x) + x
    h[-1] = 3.0
    return h + x


def _rows_of_a_view(m: Any, x: Tensor) -> Tensor:
    h: Tensor = m.linear(x) + x
    h.unsqueeze(0)[0, 1:].mul_(2)
    return h + x


def _constant(m: Any, x: Tensor) -> Tensor:
    t = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    t[0:3] = x[0, 0:3]
    return x + t


FORWARDS: dict[str, Forward] = {
    "a result that is overwritten": lambda m, x: (m.a.copy_(m.b), m.b.copy_(x), m.a)[2],
    "a part of it": lambda m, x: (m.a.copy_(m.b), m.b.copy_(x), m.a[:, 0])[2],
    "an input that is overwritten": lambda m, x: (m.a.copy_(x), x.mul_(2), m.a)[2],
    "delay line": _delay_line,
    "delay line of views": lambda m, x: (m.a.view(-1).copy_(m.b.view(-1)), m.b.copy_(x), m.a * 2)[2],
    "delay line, transposed": lambda m, x: (m.a.t().copy_(m.b.t()), m.b.copy_(x), m.a * 2)[2],
    "a row for all, then a view": lambda m, x: (m.a.copy_(m.linear(x)[0]), m.a.view(-1) * 2)[1],
    "columns, then a view": lambda m, x: (m.a.t().copy_(m.linear(x).reshape(6, 4)), m.a.view(-1) * 2)[1],
    "narrow": lambda m, x: (m.a.narrow(1, -3, 2).add_(x[:, :2]), m.a + x)[1],
    "movedim": lambda m, x: (m.a.movedim(0, 1)[2].add_(x[:, 0]), m.a + x)[1],
    "last row": _last_row,
    "rows of a view": _rows_of_a_view,
    "constant": _constant,
}


def _replaced(model: nn.Module, x: Tensor, shapes: Any = None) -> GraphModule:
    captured = export(copy.deepcopy(model), (x.clone(),), dynamic_shapes=shapes).module()
    replace_writes(captured)
    return captured


def _check(captured: GraphModule, model: nn.Module, calls: list[Tensor]) -> None:
    for x in calls:
        ours, theirs = x.clone(), x.clone()
        torch.testing.assert_close(captured(ours), model(theirs))
        torch.testing.assert_close(ours, theirs)
        for name, value in model.named_buffers():
            torch.testing.assert_close(captured.get_buffer(name), value)


@pytest.mark.parametrize("name", FORWARDS)
def test_values_are_those_of_eager(name: str) -> None:
    model = States(FORWARDS[name])
    with torch.no_grad():
        _check(_replaced(model, torch.rand(SHAPE)), model, [torch.rand(SHAPE) for _ in range(3)])


@pytest.mark.parametrize("name", ["last row", "rows of a view"])
def test_any_number_of_rows(name: str) -> None:
    model = States(FORWARDS[name])
    with torch.no_grad():
        captured = _replaced(model, torch.rand(SHAPE), ({0: Dim("rows", min=3, max=16)},))
        _check(captured, model, [torch.rand(rows, 6) for rows in (3, 4, 9, 16)])


def test_the_order_of_the_last_copies_is_that_of_the_writes() -> None:
    model = States(lambda m, x: (m.a.add_(x), m.b.mul_(2), x.add_(1), m.a + m.b)[3])
    graphs = {_replaced(model, torch.rand(SHAPE)).code for _ in range(6)}
    assert len(graphs) == 1
    with torch.no_grad():
        _check(_replaced(model, torch.rand(SHAPE)), model, [torch.rand(SHAPE)])


def test_a_state_that_is_a_part_of_another_one() -> None:
    model = States(lambda m, x: (m.row.add_(x[0]), m.a * 2 + m.row)[1])
    model.register_buffer("row", model.a[0])
    captured = export(model, (torch.rand(SHAPE),)).module()
    before = copy.deepcopy(model.state_dict())
    x = torch.rand(SHAPE)
    with torch.no_grad():
        expected = model(x)
        replace_writes(captured)
        captured.get_buffer("a").copy_(before["a"])
        torch.testing.assert_close(captured(x), expected)


def _clamped(m: Any, x: Tensor) -> Tensor:
    h: Tensor = m.linear(x)
    with torch.no_grad():
        h.clamp_(-0.5, 0.5)
    return h * x


def _rounded(m: Any, x: Tensor) -> Tensor:
    h: Tensor = m.linear(x) * 2
    with torch.no_grad():
        h[:, 0] = 0
        h.round_()
    return h * m.alpha + h


def _limited(m: Any, x: Tensor) -> Tensor:
    with torch.no_grad():
        m.alpha.clamp_(max=0.5)
    result: Tensor = m.linear(x) * m.alpha
    return result


@pytest.mark.parametrize("forward", [_clamped, _rounded, _limited])
def test_gradients_of_what_is_written_without_them(forward: Forward) -> None:
    """A write without gradients changes the values of a result with gradients, and not the gradients."""
    model, x = States(forward), torch.randn(SHAPE)
    captured = _replaced(model, x)
    found, expected = captured(x), model(x)
    torch.testing.assert_close(found, expected)
    found.sum().backward()
    expected.sum().backward()
    for name, weight in model.named_parameters():
        theirs = captured.get_parameter(name).grad
        assert (theirs is None) == (weight.grad is None), name
        if weight.grad is not None:
            torch.testing.assert_close(theirs, weight.grad)
