# SPDX-License-Identifier: BSD-3-Clause
"""State, branches, and inputs and outputs that are more than one tensor."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo.case import Method, case


class Branch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.warm, self.cold = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda t: self.warm(t).relu(), lambda t: self.cold(t) - 1.0, (x,))


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
    """No inputs at all, and an output that is a weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 3))

    def forward(self) -> tuple[Tensor, Tensor]:
        return self.weight, torch.arange(6).view(2, 3) + self.weight


@case
def branch() -> Method:
    return Method(Branch(), [(torch.ones(2, 4),), (-torch.ones(2, 4),)])


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
