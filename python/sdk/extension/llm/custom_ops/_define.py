# SPDX-License-Identifier: BSD-3-Clause
"""Registering operators of `torch.ops.llama`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.library import Library

_KERNEL = "CompositeExplicitAutograd"

custom_ops_lib = Library("llama", "FRAGMENT")


def define(
    name: str,
    arguments: str,
    eager: Callable[..., Tensor],
    meta: Callable[..., Tensor],
    out: str = "Tensor(z!) out",
) -> None:
    """Defines an operator with its out variant, unless another package in the process already has.

    `eager` computes, and `meta` says what the result looks like. The schema of the out variant is that of the kernel.
    """
    _, known = torch._C._jit_get_operation(f"llama::{name}")
    if "" not in (known or []):
        custom_ops_lib.define(f"{name}({arguments}) -> Tensor")
        custom_ops_lib.impl(name, eager, _KERNEL)
        custom_ops_lib.impl(name, meta, "Meta")
    if "out" not in (known or []):
        result = out.split()[-1]

        def write(*args: Any, **kwargs: Any) -> Tensor:
            target: Tensor = kwargs.pop(result)
            value = eager(*args, **kwargs)
            return target.resize_(value.shape).copy_(value)

        custom_ops_lib.define(f"{name}.out({arguments}, *, {out}) -> Tensor(z!)")
        custom_ops_lib.impl(f"{name}.out", write, _KERNEL)
