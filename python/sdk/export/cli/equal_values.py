# SPDX-License-Identifier: BSD-3-Clause
"""The choice among equal values.

PyTorch does not define which index `sort`, `topk`, `kthvalue` and `mode` give for equal values, and its own choice
depends on the processor. Eager mode can be made to choose as a stable sort does, which is what programs do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from sdk.export.cli.lowering import eager
from sdk.export.example_inputs import ExampleInputs

aten = torch.ops.aten


def stable_answers(module: torch.nn.Module, calls: Sequence[ExampleInputs]) -> tuple[list[Any], list[str]]:
    """PyTorch's outputs for calls in sequence if its sorts are stable, and the operators that this changes. Both lists
    are empty if the model cannot run again, because torch.export's trace changed it."""
    with _Stable() as mode:
        try:
            answers = eager(module, calls)
        except Exception:
            return [], []
    return answers, sorted(mode.replaced)


class _Stable(TorchDispatchMode):
    """Calls stable sorts in place of operators that may choose among equal values."""

    def __init__(self) -> None:
        super().__init__()
        self.replaced: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        stable = _STABLE.get(func)
        if stable is None:
            return func(*args, **(kwargs or {}))
        self.replaced.add(str(func).rpartition(".")[0])
        return stable(*args, **(kwargs or {}))


def _sort(x: torch.Tensor, dim: int = -1, descending: bool = False) -> Any:
    return aten.sort.stable(x, stable=True, dim=dim, descending=descending)


def _topk(x: torch.Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    if x.dim() == 0:
        return aten.topk(x, k, dim, largest, sorted)
    values, indices = _sort(x, dim, largest)
    return values.narrow(dim, 0, k), indices.narrow(dim, 0, k)


def _kthvalue(x: torch.Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    if x.dim() == 0:
        return aten.kthvalue(x, k, dim, keepdim)
    values, indices = (result.select(dim, k - 1) for result in _sort(x, dim))
    return (values.unsqueeze(dim), indices.unsqueeze(dim)) if keepdim else (values, indices)


def _mode(x: torch.Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The index of the last of the equal values."""
    values = aten.mode(x, dim, True)[0]
    if x.dim() == 0:
        return aten.mode(x, dim, keepdim)
    places = torch.arange(x.shape[dim], device=x.device).reshape([-1] + [1] * (x.dim() - 1 - dim % x.dim()))
    indices = torch.where(x == values, places, -1).amax(dim, keepdim=True)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


_STABLE: dict[Any, Callable[..., Any]] = {
    aten.sort.default: _sort,
    aten.topk.default: _topk,
    aten.kthvalue.default: _kthvalue,
    aten.mode.default: _mode,
}
