# SPDX-License-Identifier: BSD-3-Clause
"""Operators that work in the memory of an operand, and writes to parts of buffers."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo.case import Method, case

UNARY = [
    torch.abs, torch.acos, torch.asin, torch.asinh, torch.atan, torch.atanh, torch.ceil, torch.cos, torch.cosh,
    torch.erf, torch.exp, torch.expm1, torch.floor, torch.log1p, torch.neg, torch.reciprocal, torch.relu, torch.round,
    torch.sigmoid, torch.sign, torch.sin, torch.sinh, torch.tan, torch.tanh, torch.trunc,
    torch.nn.functional.elu, torch.nn.functional.gelu, torch.nn.functional.hardtanh, torch.nn.functional.leaky_relu,
    lambda t: torch.clamp(t, -0.3, 0.4), lambda t: t + 1.5, lambda t: t - 1.5, lambda t: t * 1.5, lambda t: t / 1.5,
]  # fmt: skip
POSITIVE = [torch.acosh, torch.log, torch.log2, torch.log10, torch.rsqrt, torch.sqrt, lambda t: t**1.5]
BINARY = [torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.minimum, torch.atan2]
INTEGER = [torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor]
BOOLEAN = [torch.logical_and, torch.logical_or]


class InPlace(nn.Module):
    """Operators that can write their result over an operand, because nothing reads that operand later. It is the left,
    the right or both operands of binary ones."""

    def forward(self, x: Tensor, row: Tensor, n: Tensor) -> list[Tensor]:
        half = [f(x * 0.5) for f in UNARY]
        above = [f(x.abs() + 1.25) for f in POSITIVE]
        left = [f(x + 2.0, row) for f in BINARY]
        right = [f(row, x + 2.0) for f in BINARY]
        both = [f(t, t) for f, t in ((f, x + 2.0) for f in BINARY)]
        powers = [torch.pow(x.abs() + 0.5, row)]
        numbers = [f(n + 1, n) for f in INTEGER] + [torch.bitwise_not(n + 1)]
        flags = [f(n > 0, n < 3) for f in BOOLEAN] + [torch.logical_not(n > 0)]
        floats = [t.flatten()[1:] for t in half + above + left + right + both + powers]
        return floats + [t.flatten()[1:] for t in numbers + flags]


class Cache(nn.Module):
    """Partial writes to buffers, by index, slice and position. Some of them read the buffer before and after."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 2, 8, 4))
        self.register_buffer("values", torch.arange(64.0).view(1, 2, 8, 4))
        self.register_buffer("history", torch.zeros(5, 4))
        self.register_buffer("total", torch.ones(4))
        self.register_buffer("old", torch.ones(4))

    def forward(self, x: Tensor, position: Tensor) -> tuple[Tensor, ...]:
        before = self.values.sum()
        self.keys[:, :, position] = x
        self.values[:, :, 2:3] = x
        self.values[:, 1] = self.values[:, 1] * 2.0
        # The shift needs the old history while it makes the new one.
        self.history.copy_(torch.cat([self.history[1:], x[0, 0]]))
        self.history[0] += 1.0
        # The old total is used after the new one is known.
        new = self.total * 1.5 + x[0, 0, 0]
        difference = new - self.total
        self.total.copy_(new)
        self.old.add_(self.total)
        return (
            before,
            (self.keys @ self.values.transpose(-1, -2)).sum(-1),
            self.history * 1.0,
            difference,
            self.old + 0.0,
        )


@case
def in_place() -> Method:
    calls = [(torch.rand(3, 7) * 1.8 - 0.9, torch.rand(7) + 0.5, torch.arange(12).view(3, 4)) for _ in range(2)]
    return Method(InPlace(), calls)


@case
def cache() -> Method:
    return Method(Cache(), [(torch.randn(1, 2, 1, 4), torch.tensor([p])) for p in (0, 1, 7, 1)])
