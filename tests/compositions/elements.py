# SPDX-License-Identifier: BSD-3-Clause
"""Steps that choose elements, change types, write in place, and keep state between calls."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from compositions.draw import LEAST, Draw
from compositions.steps import Maker, WithParameter, start_and_length, step


@step("ff")
def compare(draw: Draw, x: Tensor, y: Tensor) -> Maker:
    return draw.of([torch.gt, torch.le, torch.ne])


@step("f")
def is_positive(draw: Draw, x: Tensor) -> Maker:
    return lambda x: x > 0.0123


@step("bb")
def logical(draw: Draw, x: Tensor, y: Tensor) -> Maker:
    return draw.of([torch.logical_and, torch.logical_or, torch.bitwise_xor])


@step("b")
def count(draw: Draw, x: Tensor) -> Maker:
    dim = draw.dim(x)
    function = draw.of([torch.sum, torch.any, torch.all])
    return lambda x: function(x, dim)


@step("fb")
def masked_fill(draw: Draw, x: Tensor, mask: Tensor) -> Maker:
    value = draw.of([0.0, -2.5])
    return lambda x, mask: x.masked_fill(mask, value)


@step("fbf")
def where(draw: Draw, x: Tensor, mask: Tensor, y: Tensor) -> Maker:
    return lambda x, mask, y: torch.where(mask, x, y)


@step("b")
def bool_to_float(draw: Draw, x: Tensor) -> Maker:
    return lambda x: x.to(torch.float32)


@step("f")
def to_int(draw: Draw, x: Tensor) -> Maker:
    return lambda x: (x * 3.1416 + 0.0123).to(torch.int64)


@step("i")
def int_to_float(draw: Draw, x: Tensor) -> Maker:
    return lambda x: x.to(torch.float32) * 0.1


INTEGERS = {
    "add": torch.add,
    "sub": torch.sub,
    "maximum": torch.maximum,
    "floor_divide": lambda x, y: x // (y.abs() + 1),
    "remainder": lambda x, y: x % 7 + y,
}


@step("ii")
def int_arithmetic(draw: Draw, x: Tensor, y: Tensor) -> Maker:
    return INTEGERS[draw.of(list(INTEGERS))]


def without_ties(x: Tensor, dim: int) -> Tensor:
    """The operand with distinct values along a dimension, because the choice among equal values is not specified."""
    ramp = torch.arange(x.shape[dim], dtype=x.dtype) * 0.618034 % 1.0 * 0.0937
    return x + ramp.view([-1] + [1] * (x.dim() - 1 - dim % x.dim()))


@step("f")
def argmax(draw: Draw, x: Tensor) -> Maker:
    dim, keepdim = draw.dim(x), draw.chance(0.5)
    function = draw.of([torch.argmax, torch.argmin])
    return lambda x: function(without_ties(x, dim), dim, keepdim=keepdim)


@step("f")
def topk(draw: Draw, x: Tensor) -> Maker:
    k = draw.number(1, min(3, x.shape[-1]))
    return lambda x: without_ties(x, -1).topk(k)


@step("f")
def sort(draw: Draw, x: Tensor) -> Maker:
    descending = draw.chance(0.5)
    return lambda x: without_ties(x, -1).sort(-1, descending=descending)


@step("f")
def argsort(draw: Draw, x: Tensor) -> Maker:
    dim = draw.dim(x)
    return lambda x: without_ties(x, dim).argsort(dim)


class Embedding(nn.Module):
    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(rows, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.table(x.remainder(self.table.num_embeddings))


@step("i")
def embedding(draw: Draw, x: Tensor) -> Maker | None:
    return Embedding(draw.of([5, 32]), draw.of([1, 8, 17])) if x.dim() < 4 else None


@step("i")
def one_hot(draw: Draw, x: Tensor) -> Maker | None:
    return (lambda x: nn.functional.one_hot(x.remainder(4), 4)) if x.dim() < 4 else None


@step("fi")
def gather(draw: Draw, x: Tensor, index: Tensor) -> Maker | None:
    if x.dim() != index.dim():
        return None
    return lambda x, index: x.gather(-1, index.remainder(x.shape[-1]))


@step("f")
def index_select(draw: Draw, x: Tensor) -> Maker:
    dim = draw.number(0, x.dim() - 1)
    index = torch.tensor([draw.number(0, min(x.shape[dim], LEAST) - 1) for _ in range(3)])
    return Constant(index, lambda x, index: x.index_select(dim, index))


@step("f")
def advanced_index(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() < 3:
        return None
    rows = torch.tensor([draw.number(0, min(x.shape[1], LEAST) - 1) for _ in range(3)])
    return Constant(rows, lambda x, rows: x[:, rows, 0] if x.shape[2] > 1 else x[:, rows])


@step("f")
def index_by_mask(draw: Draw, x: Tensor) -> Maker:
    return lambda x: torch.where(x > 0, x, torch.zeros_like(x))


@step("ff")
def scatter_add(draw: Draw, x: Tensor, y: Tensor) -> Maker | None:
    if x.shape != y.shape:
        return None
    dim = draw.number(0, x.dim() - 1)
    return lambda x, y: x.scatter_add(dim, (y * 4.9371).long().remainder(x.shape[dim]), y)


class Constant(nn.Module):
    """Combines the operand with a constant tensor."""

    def __init__(self, value: Tensor, function: Maker) -> None:
        super().__init__()
        self.register_buffer("value", value)
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x, self.value)


# Writes in place. The operand may be a view of another value or of an input.


@step("ff")
def binary_in_place(draw: Draw, x: Tensor, y: Tensor) -> Maker:
    return draw.of([Tensor.add_, Tensor.sub_, Tensor.mul_, Tensor.copy_])


@step("f")
def unary_in_place(draw: Draw, x: Tensor) -> Maker:
    return draw.of([Tensor.relu_, Tensor.neg_, Tensor.tanh_, Tensor.square_, Tensor.zero_])


@step("f")
def fill_part(draw: Draw, x: Tensor) -> Maker | None:
    dim = draw.number(0, x.dim() - 1)
    if x.shape[dim] < 2:
        return None
    start, length = start_and_length(draw, x.shape[dim] if dim else 2)
    value = draw.of([0.0, 1.25])

    def fill(x: Tensor) -> Tensor:
        x.narrow(dim, start, length).fill_(value)
        return x

    return fill


@step("f")
def write_part(draw: Draw, x: Tensor) -> Maker | None:
    """Writes one half of a copy into the other."""
    half = x.shape[-1] // 2
    if half < 1:
        return None
    copies = draw.chance(0.5)

    def write(x: Tensor) -> Tensor:
        y = x.clone() if copies else x
        y[..., :half] = x[..., -half:] * 2
        return y

    return write


class Accumulator(nn.Module):
    """State that each call adds to. Its size does not follow the first dimension."""

    def __init__(self, shape: list[int], reads_first: bool) -> None:
        super().__init__()
        self.reads_first = reads_first
        self.register_buffer("state", torch.zeros(shape))

    def forward(self, x: Tensor) -> Tensor:
        before = self.state.clone() if self.reads_first else self.state
        self.state.add_(x[0] * 0.5)
        return x + before


@step("f")
def accumulator(draw: Draw, x: Tensor) -> Maker | None:
    return Accumulator(list(x.shape[1:]), draw.chance(0.5)) if x.dim() > 1 and x.dtype == torch.float32 else None


class Cache(nn.Module):
    """Each call writes one row of a buffer, at a position that is itself a buffer and is then incremented."""

    def __init__(self, rows: int, shape: list[int]) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(rows, *shape))
        self.register_buffer("position", torch.zeros(1, dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        self.rows.index_copy_(0, self.position, x[:1])
        self.position.copy_((self.position + 1) % self.rows.shape[0])
        return self.rows * 1.5


@step("f")
def cache(draw: Draw, x: Tensor) -> Maker | None:
    return Cache(draw.number(2, 3), list(x.shape[1:])) if x.dim() in (2, 3) and x.dtype == torch.float32 else None


@step("f")
def half(draw: Draw, x: Tensor) -> Maker:
    return lambda x: x.to(torch.float16)


@step("f")
def to_float(draw: Draw, x: Tensor) -> Maker:
    return lambda x: x.to(torch.float32)


@step("f")
def unused_parameter(draw: Draw, x: Tensor) -> Maker | None:
    return WithParameter([3], lambda x, weight: x * 2)
