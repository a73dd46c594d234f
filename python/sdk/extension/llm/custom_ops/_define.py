# SPDX-License-Identifier: BSD-3-Clause
"""Registering operators of `torch.ops.llama` and `torch.ops.torchao`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.library import Library

_KERNEL = "CompositeExplicitAutograd"

custom_ops_lib = Library("llama", "FRAGMENT")
torchao_lib = Library("torchao", "FRAGMENT")


def define(
    name: str,
    arguments: str,
    eager: Callable[..., Tensor],
    meta: Callable[..., Tensor],
    out: str = "Tensor(z!) out",
    library: Library = custom_ops_lib,
) -> None:
    """Defines an operator with its out variant, unless another package in the process already has.

    `eager` computes, and `meta` says what the result looks like. The schema of the out variant is that of the kernel.
    """
    _, known = torch._C._jit_get_operation(f"{library.ns}::{name}")
    if "" not in (known or []):
        library.define(f"{name}({arguments}) -> Tensor")
        library.impl(name, eager, _KERNEL)
        library.impl(name, meta, "Meta", allow_override=True)  # torchao has some of operators that it does not define
    if "out" not in (known or []):
        result = out.split()[-1]

        def write(*args: Any, **kwargs: Any) -> Tensor:
            target: Tensor = kwargs.pop(result)
            value = eager(*args, **kwargs)
            return target.resize_(value.shape).copy_(value)

        library.define(f"{name}.out({arguments}, *, {out}) -> Tensor(z!)")
        library.impl(f"{name}.out", write, _KERNEL)
