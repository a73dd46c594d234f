# SPDX-License-Identifier: BSD-3-Clause
"""The steps that programs are made of.

A maker gets random choices and example operands, and returns a function of the operands, a module, or None where it
does not apply. Sizes that follow a dimension are read from the operand when the step runs, so that programs can have
dynamic shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from compositions.draw import Draw

Maker = Callable[..., "Callable[..., Any] | None"]

MAKERS: dict[str, tuple[str, Maker]] = {}
"""Name to the kinds of its operands (f: floating point, i: int64, b: bool), and the maker."""


def step(kinds: str, makers: dict[str, tuple[str, Maker]] = MAKERS) -> Callable[[Maker], Maker]:
    """Registers a maker of steps whose operands are of `kinds`, a letter each."""

    def register(maker: Maker) -> Maker:
        makers[maker.__name__] = (kinds, maker)
        return maker

    return register


def start_and_length(draw: Draw, size: int) -> tuple[int, int]:
    start = draw.number(0, size - 1)
    return start, draw.number(1, size - start)


UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "hardswish": F.hardswish,
    "hardtanh": F.hardtanh,
    "leaky_relu": F.leaky_relu,
    "elu": F.elu,
    "neg": torch.neg,
    "abs": torch.abs,
    "square": torch.square,
    "sqrt": lambda x: torch.sqrt(x.abs()),
    "rsqrt": lambda x: torch.rsqrt(x.abs() + 1),
    "exp": lambda x: torch.exp(-x.abs()),
    "log1p": lambda x: torch.log1p(x.abs()),
    "sin": torch.sin,
    "clamp": lambda x: x.clamp(-0.5, 0.75),
    "softplus": F.softplus,
    "scaled": lambda x: x * 0.5 + 0.25,
    "reversed_subtraction": lambda x: 1 - x,
    "clone": torch.clone,
}


@step("f")
def unary(draw: Draw, x: Tensor) -> Maker:
    return UNARY[draw.of(list(UNARY))]


BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": lambda x, y: x / (y.abs() + 1),
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "add_scaled": lambda x, y: torch.add(x, y, alpha=2),
    "where": lambda x, y: torch.where(x > y, x, y * 0.5),
    "atan2": lambda x, y: torch.atan2(x, y.abs() + 1),
}


@step("ff")
def binary(draw: Draw, x: Tensor, y: Tensor) -> Maker:
    return BINARY[draw.of(list(BINARY))]


class WithParameter(nn.Module):
    """A parameter of `shape`, broadcast against the operand."""

    def __init__(self, shape: list[int], function: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(shape))
        self.function = function

    def forward(self, x: Tensor) -> Any:
        return self.function(x, self.weight)


@step("f")
def with_parameter(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() < 2:
        return None
    shape = [size if draw.chance(0.5) else 1 for size in x.shape[draw.number(1, x.dim() - 1) :]]
    return WithParameter(shape, BINARY[draw.of(["add", "sub", "mul", "div"])])


# Views and copies.


@step("f")
def contiguous(draw: Draw, x: Tensor) -> Maker:
    """Copies only an operand that is not contiguous. A later write to the result shows whether it is a copy."""
    return lambda x: x.contiguous()


@step("f")
def permute(draw: Draw, x: Tensor) -> Maker:
    order = draw.order(x.dim())
    return lambda x: x.permute(order)


@step("f")
def transpose(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() < 2:
        return None
    first, second = draw.dim(x), draw.dim(x)
    return lambda x: x.transpose(first, second)


@step("f")
def flatten(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() < 3:
        return None
    start = draw.number(0, x.dim() - 2)
    end = draw.number(start + 1, x.dim() - 1)
    return lambda x: x.flatten(start, end)


@step("f")
def split_dimension(draw: Draw, x: Tensor) -> Maker | None:
    dim = draw.number(0, x.dim() - 1)
    parts = [d for d in (2, 3, 4, 8) if x.shape[dim] % d == 0 and dim > 0]
    if not parts or x.dim() > 4:
        return None
    part = draw.of(parts)
    sizes = (part, -1) if draw.chance(0.5) else (-1, part)
    return lambda x: x.unflatten(dim, sizes)


@step("f")
def reshape_rows(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() < 2:
        return None
    return lambda x: x.reshape(x.shape[0], -1)


@step("f")
def unsqueeze(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() > 4:
        return None
    dim = draw.number(-x.dim() - 1, x.dim())
    return lambda x: x.unsqueeze(dim)


@step("f")
def squeeze(draw: Draw, x: Tensor) -> Maker | None:
    ones = [dim for dim in range(x.dim()) if x.shape[dim] == 1]
    if not ones:
        return None
    dim = draw.of(ones)
    return lambda x: x.squeeze(dim)


@step("f")
def narrow(draw: Draw, x: Tensor) -> Maker | None:
    dim = draw.number(0, x.dim() - 1)
    if x.shape[dim] < 2:
        return None
    start, length = start_and_length(draw, x.shape[dim] if dim else 2)
    return lambda x: x.narrow(dim, start, length)


@step("f")
def slices(draw: Draw, x: Tensor) -> Maker | None:
    dim = draw.number(0, x.dim() - 1)
    if x.shape[dim] < 2:
        return None
    which = draw.of([slice(1, None), slice(None, -1), slice(None, None, 2), slice(1, None, 2), slice(-2, None)])
    return lambda x: x[(slice(None),) * dim + (which,)]


@step("f")
def select(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() < 2:
        return None
    dim = draw.dim(x)
    index = draw.of([0, 1, -1]) if x.shape[dim] > 1 else 0
    return lambda x: x.select(dim, index)


@step("f")
def expand(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() > 3:
        return None
    times = draw.number(2, 3)
    return lambda x: x.unsqueeze(1).expand(x.shape[0], times, *x.shape[1:])


@step("f")
def repeat(draw: Draw, x: Tensor) -> Maker:
    times = [draw.number(1, 2) for _ in range(x.dim())]
    return lambda x: x.repeat(*times)


@step("f")
def flip(draw: Draw, x: Tensor) -> Maker:
    dim = draw.dim(x)
    return lambda x: x.flip(dim)


@step("f")
def roll(draw: Draw, x: Tensor) -> Maker:
    dim, shift = draw.dim(x), draw.of([-1, 1, 2])
    return lambda x: x.roll(shift, dim)


@step("f")
def chunk(draw: Draw, x: Tensor) -> Maker | None:
    dim = draw.number(0, x.dim() - 1)
    if dim == 0 or x.shape[dim] < 3:
        return None
    count = draw.number(2, 3)
    return lambda x: x.chunk(count, dim)


@step("f")
def unbind(draw: Draw, x: Tensor) -> Maker | None:
    dims = [dim for dim in range(1, x.dim()) if x.shape[dim] <= 4]
    if not dims:
        return None
    dim = draw.of(dims)
    return lambda x: x.unbind(dim)


@step("ff")
def cat(draw: Draw, x: Tensor, y: Tensor) -> Maker:
    dim = draw.dim(x)
    return lambda x, y: torch.cat([x, y], dim)


@step("f")
def cat_itself(draw: Draw, x: Tensor) -> Maker:
    dim = draw.dim(x)
    return lambda x: torch.cat([x, x * 2, x], dim)


@step("ff")
def stack(draw: Draw, x: Tensor, y: Tensor) -> Maker | None:
    if x.dim() > 3:
        return None
    dim = draw.number(0, x.dim())
    return lambda x, y: torch.stack([x, y], dim)


@step("f")
def pad(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() < 2:
        return None
    widths = [draw.number(-1 if x.shape[-1] > 3 and x.shape[-2] > 3 else 0, 2) for _ in range(4)]
    value = draw.of([0.0, 1.5])
    return lambda x: F.pad(x, widths, value=value)


@step("f")
def channels_last(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() != 4:
        return None
    return lambda x: x.to(memory_format=torch.channels_last)


@step("f")
def triangle(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() < 2:
        return None
    function, diagonal = draw.of([torch.tril, torch.triu]), draw.number(-1, 1)
    return lambda x: function(x, diagonal)
