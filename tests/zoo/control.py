# SPDX-License-Identifier: BSD-3-Clause
"""State, branches, and inputs and outputs that are more than one tensor."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch._higher_order_ops import scan, while_loop
from torch._higher_order_ops.map import map as map_rows
from torch.export import Dim

from zoo.case import Method, case


class Branch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.warm, self.cold = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda t: self.warm(t).relu(), lambda t: self.cold(t) - 1.0, (x,))


class NestedBranches(nn.Module):
    """A branch inside of a branch, and several results, one of which is an operand."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        def positive(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            return torch.cond(y.sum() > 0, lambda x, y: (x + y, x * y), lambda x, y: (x - y, y.clone()), (x, y))

        first, second = torch.cond(x.sum() > 0, positive, lambda x, y: (x * 2.0, y * 3.0), (x, y))
        return first - 1.0, second


class BranchedState(nn.Module):
    """Buffers that are updated with the result of a branch."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.ones(3))
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.mean.add_(torch.cond(x.sum() > self.mean.sum(), torch.cos, torch.sin, (x,)))
        new = torch.cond(self.count.sum() > 1, lambda x, c: x + c, lambda x, c: x - c + 1.0, (x, self.count))
        self.count.copy_(new)
        return self.mean * 2, self.count + 1


class Rows(nn.Module):
    """A map over the rows of two inputs, with two results and a weight."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 5)

    def forward(self, x: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        first, second = map_rows(lambda row, b: (self.linear(row[0]).relu() + b, row[0] - row[1]), (x, x.flip(0)), bias)
        return first + 1.0, second.view(-1)


class Loop(nn.Module):
    """A loop whose number of iterations is a tensor, with a branch and a map inside, and values that are swapped."""

    def forward(self, n: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        def body(i: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            x = torch.cond(x.sum() > 0, lambda t: t - 3.0, lambda t: t * 0.5 + 4.0, (x,))
            return i - 1, y.clone(), map_rows(lambda row, i: row + i, x, i)

        return while_loop(lambda i, x, y: i > 0, body, (n, x, y))


class CountedLoop(nn.Module):
    """A loop with a Python integer, not a tensor."""

    def forward(self, x: Tensor) -> Tensor:
        return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2 + i), (0, x))[1]


class Recurrence(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, state: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        def step(state: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
            state = torch.tanh(self.linear(state) + x)
            return state, state * 2.0

        state, all_states = scan(step, state, x)
        _, sums = scan(lambda total, x: (total + x, total * x), state, x, reverse=True)
        return state, all_states, sums


class OpenInteger(nn.Module):
    def forward(self, x: Tensor, n: int) -> Tensor:
        return x * n + (n - 1)


class Counter(nn.Module):
    """A buffer that starts at a value other than zero and is updated at each call."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.total.add_(x)
        return self.total * 2, x - self.total


class Scalars(nn.Module):
    def forward(self, x: Tensor, scale: float, count: int, flip: bool) -> Tensor:
        return x * scale + count if flip else x - scale


class Nested(nn.Module):
    def forward(self, pair: list[Tensor], named: dict[str, Tensor]) -> dict[str, object]:
        first, second = pair
        return {"sum": first + named["a"], "rest": [second * named["b"], (first.t(), second)]}


class Constants(nn.Module):
    """A model without inputs, one of whose outputs is a weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 3))

    def forward(self) -> tuple[Tensor, Tensor]:
        return self.weight, torch.arange(6).view(2, 3) + self.weight


@case
def branch() -> Method:
    return Method(Branch(), [(torch.ones(2, 4),), (-torch.ones(2, 4),)])


@case
def nested_branches() -> Method:
    x, y = torch.rand(2, 3), torch.rand(2, 3)
    return Method(NestedBranches(), [(x * a, y * b) for a in (1, -1) for b in (1, -1)])


@case
def branched_state() -> Method:
    return Method(BranchedState(), [(torch.randn(3),) for _ in range(4)])


@case
def map_over_rows() -> Method:
    calls = [(torch.randn(n, 3), torch.randn(5)) for n in (4, 7, 2)]
    return Method(Rows(), calls, ({0: Dim("n", min=2, max=9)}, None))


@case
def loop() -> Method:
    x, y = torch.randn(4, 3), torch.randn(4, 3)
    return Method(Loop(), [(torch.tensor(n), x, y) for n in (3, 0, 6, 1)])


@case
def counted_loop() -> Method:
    return Method(CountedLoop(), [(torch.randn(2, 3),), (torch.randn(2, 3),)])


@case
def recurrence() -> Method:
    calls = [(torch.randn(3), torch.randn(n, 3)) for n in (4, 9, 2)]
    return Method(Recurrence(), calls, (None, {0: Dim("n", min=2, max=9)}))


@case
def open_integer() -> Method:
    return Method(OpenInteger(), [(torch.randn(2, 3), n) for n in (3, 7, -2)], (None, Dim.DYNAMIC))


@case
def counter() -> Method:
    return Method(Counter(), [(torch.tensor([1.0, 0.0, -1.0]),) for _ in range(3)])


@case
def scalars() -> Method:
    return Method(Scalars(), [(torch.randn(2, 3), 0.5, 3, True), (torch.randn(2, 3), 0.5, 3, True)])


@case
def nested() -> Method:
    a, b, c, d = (torch.randn(3, 3) for _ in range(4))
    return Method(Nested(), [([a, b], {"a": c, "b": d})])


@case
def constants() -> Method:
    return Method(Constants(), [()])
