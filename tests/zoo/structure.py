# SPDX-License-Identifier: BSD-3-Clause
"""Sizes that are computed, sizes that depend on data, and inputs and outputs of every kind."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.export import Dim

from zoo.case import Case, Method, case


class SizeArithmetic(nn.Module):
    """Integer arithmetic on sizes: as sizes of results, as numbers in the computation, and as outputs."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, int, int]:
        n = x.shape[0]
        steps = torch.arange(2 * n + 1, dtype=torch.float32)
        mixed = x * (n % 3) - x.flip(0) * (n // 2)
        return steps[1:] * n, mixed, n * n - 1, (n + 3) // 4


class SizeFromData(nn.Module):
    """A size that is the value of an input, within bounds that the model states."""

    def forward(self, x: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
        n = count.item()
        torch._check(n >= 1)
        torch._check(n <= 8)
        table = torch.full((n, 3), 2.0)
        return table + x, table.sum(0) * n


class Selected(nn.Module):
    """Sizes that depend on data: the number of indices that nonzero finds, and of elements that a mask selects."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        found = (x > 0).nonzero()
        torch._check(found.shape[0] <= 12)
        return x[found[:, 0]] * 2.0, found.sum(), x[x.abs() > 0.5] + 1.0


class Flags(NamedTuple):
    scale: Tensor
    bias: Tensor | None


class Result(NamedTuple):
    total: Tensor
    parts: list[Tensor]
    missing: Tensor | None


class NamedTuples(nn.Module):
    """Named tuples both ways, one with a None in it, and a list of tensors."""

    def forward(self, rows: list[Tensor], flags: Flags) -> Result:
        stacked = torch.stack(rows)
        total = (stacked * flags.scale).sum(0)
        if flags.bias is not None:
            total = total + flags.bias
        return Result(total, list(stacked.chunk(3)), None)


class OptionalIndices(nn.Module):
    """Lists of optional tensors: indices with gaps."""

    def forward(self, x: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
        return x[:, columns], x[1:, :, columns]


class Literals(nn.Module):
    """A constant of every kind, combined with a tensor."""

    def forward(self, x: Tensor, name: str, power: int, scale: float, flag: bool) -> tuple[object, ...]:
        y = x**power * scale if flag else x
        return y, 3, 2.5, True, None, "text", name


@case
def size_arithmetic() -> Method:
    calls = [(torch.randn(n, 3),) for n in (4, 9, 7, 2)]
    return Method(SizeArithmetic(), calls, ({0: Dim("n", min=2, max=12)},))


@case
def size_from_data() -> Method:
    return Method(SizeFromData(), [(torch.randn(3), torch.tensor(n)) for n in (4, 8, 1)])


@case
def selected() -> Method:
    return Method(Selected(), [(torch.randn(12),) for _ in range(3)] + [(torch.ones(12),)])


@case
def named_tuples() -> Method:
    rows = [torch.randn(2, 3) for _ in range(3)]
    return Method(NamedTuples(), [(rows, Flags(torch.randn(3), None)), (rows[::-1], Flags(torch.randn(3), None))])


@case
def optional_indices() -> Method:
    return Method(OptionalIndices(), [(torch.randn(3, 4, 5), torch.tensor([3, 0, 1])) for _ in range(2)])


@case
def literals() -> Case:
    calls = [(torch.rand(2, 2), "given", 2, 0.5, True) for _ in range(2)]
    return Case({"forward": Method(Literals(), calls)}, {"get_flag": True, "get_words": "a b", "get_none": None})
