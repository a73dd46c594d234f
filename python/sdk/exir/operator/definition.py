# SPDX-License-Identifier: BSD-3-Clause
"""Registers operators with PyTorch, each with its out variant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.library import Library

_KERNEL = "CompositeExplicitAutograd"


Results: TypeAlias = Tensor | tuple[Tensor, ...]


def define(
    library: Library,
    name: str,
    arguments: str,
    eager: Callable[..., Results],
    meta: Callable[..., Results],
    out: str = "Tensor(z!) out",
) -> None:
    """Defines an operator with its out variant, unless another package in the process already has.

    `eager` computes the results, `meta` only their shapes and dtypes. The schema of the out variant is the kernel's;
    `out` declares its results, separated by commas.
    """
    _, known = torch._C._jit_get_operation(f"{library.ns}::{name}")
    written, names = zip(*(each.split() for each in out.split(",")), strict=True)
    if "" not in (known or []):
        library.define(f"{name}({arguments}) -> {_returned(['Tensor'] * len(names))}")
        library.impl(name, eager, _KERNEL)
        library.impl(name, meta, "Meta", allow_override=True)  # torchao has kernels of undefined operators
    if "out" not in (known or []):

        def write(*args: Any, **kwargs: Any) -> Results:
            targets: tuple[Tensor, ...] = tuple(kwargs.pop(each) for each in names)
            values = eager(*args, **kwargs)
            for target, value in zip(targets, (values,) if isinstance(values, Tensor) else values, strict=True):
                target.resize_(value.shape).copy_(value)
            return targets[0] if len(targets) == 1 else targets

        library.define(f"{name}.out({arguments}, *, {out}) -> {_returned(written)}")
        library.impl(f"{name}.out", write, _KERNEL)


def _returned(types: Sequence[str]) -> str:
    return types[0] if len(types) == 1 else f"({', '.join(types)})"
