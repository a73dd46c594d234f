# SPDX-License-Identifier: BSD-3-Clause
"""Registering operators of `torch.ops.llama` and `torch.ops.torchao`."""

from __future__ import annotations

from collections.abc import Callable

from torch.library import Library

from sdk.exir.operator import definition

custom_ops_lib = Library("llama", "FRAGMENT")
torchao_lib = Library("torchao", "FRAGMENT")


def define(
    name: str,
    arguments: str,
    eager: Callable[..., definition.Results],
    meta: Callable[..., definition.Results],
    out: str = "Tensor(z!) out",
    library: Library = custom_ops_lib,
) -> None:
    """`sdk.exir.operator.definition.define`, for these libraries."""
    definition.define(library, name, arguments, eager, meta, out)
