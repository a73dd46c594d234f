# SPDX-License-Identifier: BSD-3-Clause
"""Registers operators with PyTorch, each with its out variant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.library import Library

_KERNEL = "CompositeExplicitAutograd"


def define(
    library: Library,
    name: str,
    arguments: str,
    eager: Callable[..., Tensor],
    meta: Callable[..., Tensor],
    out: str = "Tensor(z!) out",
) -> None:
    """Defines an operator with its out variant, unless another package in the process already has.

    `eager` computes, and `meta` says what the result looks like. The schema of the out variant is the kernel's.
    """
    _, known = torch._C._jit_get_operation(f"{library.ns}::{name}")
    if "" not in (known or []):
        library.define(f"{name}({arguments}) -> Tensor")
        library.impl(name, eager, _KERNEL)
        library.impl(name, meta, "Meta", allow_override=True)  # torchao has some of operators that it does not define
    if "out" not in (known or []):
        written, result = out.split()

        def write(*args: Any, **kwargs: Any) -> Tensor:
            target: Tensor = kwargs.pop(result)
            value = eager(*args, **kwargs)
            return target.resize_(value.shape).copy_(value)

        library.define(f"{name}.out({arguments}, *, {out}) -> {written}")
        library.impl(f"{name}.out", write, _KERNEL)
