# SPDX-License-Identifier: BSD-3-Clause
"""Models of libraries, and their random weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

Call = tuple[Any, ...]


@dataclass
class Model:
    """A module with the calls that test it.

    `calls(size)` gives calls to make in this order. Their dynamic dimension has `size` elements, or more in later
    calls. `dynamic` says for each argument which dimension is dynamic. `sizes` are the smallest, the exported and the
    largest size.
    """

    module: nn.Module
    calls: Callable[[int], list[Call]]
    dynamic: tuple[int | None, ...]
    sizes: tuple[int, int, int] = (1, 2, 3)
    what: str = "batch"
    fixed: int = 1
    """The size with which the program with fixed shapes is made."""
    strict: bool = False
    """Whether torch.export analyses the code (strict mode). Otherwise it does not see buffers under other names."""


MAKERS: dict[str, Callable[[], Model]] = {}
"""The models by name: `library/model`."""


def make(name: str) -> Model:
    """The model `name` in evaluation mode, with weights from a fixed seed."""
    torch.manual_seed(0)
    model = MAKERS[name]()
    model.module.eval().requires_grad_(False)
    spread_out(model.module)
    return model


def spread_out(module: nn.Module) -> None:
    """Gives distinct values to parameters and statistics that initialisation makes all equal.

    Layer scales of 1e-6 and norms whose weights begin at zero would hide a wrong branch, and means of zero and
    variances of one a wrong batch norm.
    """
    generator = torch.Generator().manual_seed(1)

    def noise(like: Tensor) -> Tensor:
        return torch.randn(like.shape, generator=generator, dtype=torch.float32).to(like.dtype)

    for name, value in module.named_parameters():
        if not value.is_floating_point() or value.numel() < 2 or (value != value.reshape(-1)[0]).any():
            continue
        first = float(value.reshape(-1)[0])
        # A scale near zero becomes one that lets its branch through, a bias of zero a small one.
        is_scale = "gamma" in name or "scale" in name or (name.endswith("weight") and value.dim() == 1)
        value.data = noise(value) * 0.1 + (0.5 if is_scale and abs(first) < 0.1 else first)
    for name, value in module.named_buffers():
        if name.endswith("running_mean"):
            value.data = noise(value) * 0.1
        elif name.endswith("running_var"):
            value.data = noise(value).abs() * 0.2 + 0.9


def images(*shape: int) -> Callable[[int], list[Call]]:
    """Calls with one tensor of normally distributed values, of `shape` after the batch dimension."""
    return lambda batch: [(torch.randn(batch, *shape),)]


class Tensors(nn.Module):
    """Calls `module` with its arguments by name, and returns the tensors among its results, in order."""

    def __init__(self, module: nn.Module, *names: str, first: int | None = None, **fixed: Any) -> None:
        super().__init__()
        self.module, self.names, self.first, self.fixed = module, names, first, fixed

    def forward(self, *args: Tensor) -> tuple[Tensor, ...]:
        result = self.module(**dict(zip(self.names, args, strict=True)), **self.fixed)
        found: list[Tensor] = []
        _collect(result, found)
        return tuple(found[: self.first])


def _collect(value: Any, into: list[Tensor]) -> None:
    if isinstance(value, Tensor):
        into.append(value)
    elif isinstance(value, dict):
        for item in value.values():
            _collect(item, into)
    elif isinstance(value, list | tuple):
        for item in value:
            _collect(item, into)
