# SPDX-License-Identifier: BSD-3-Clause
"""Registers `dim_order_ops`: ATen operators with a memory format, written with a dim order instead.

A memory format is a name for a few stride patterns; a dim order lists the dimensions of any rank, outermost first,
and is what the program format stores. The Python implementations call the ATen operators, so graphs that contain
these stay executable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import torch

from sdk.exir.dim_order_utils import get_memory_format

DimOrder: TypeAlias = Sequence[int] | None

_TENSOR_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

_SCHEMAS = (
    f"_to_dim_order_copy(Tensor self, *, {_TENSOR_OPTIONS}, bool non_blocking=False, int[]? dim_order=None) -> Tensor",
    "_to_dim_order_copy.out(Tensor self, *, bool non_blocking=False, int[]? dim_order=None, Tensor(a!) out) -> "
    "Tensor(a!)",
    f"_empty_dim_order(SymInt[] size, *, {_TENSOR_OPTIONS}, int[]? dim_order=None) -> Tensor",
    "_empty_dim_order.out(SymInt[] size, *, int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)",
    "_clone_dim_order(Tensor self, *, bool non_blocking=False, int[]? dim_order=None) -> Tensor",
    "_clone_dim_order.out(Tensor self, *, bool non_blocking=False, int[]? dim_order=None, Tensor(a!) out) -> "
    "Tensor(a!)",
)


def _memory_format(dim_order: DimOrder) -> torch.memory_format:
    return torch.preserve_format if dim_order is None else get_memory_format(list(dim_order))


def _to_dim_order_copy(
    self: torch.Tensor,
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    non_blocking: bool = False,
    dim_order: DimOrder = None,
) -> torch.Tensor:
    return torch.ops.aten._to_copy.default(
        self,
        dtype=dtype,
        layout=layout,
        device=device,
        pin_memory=pin_memory,
        non_blocking=non_blocking,
        memory_format=_memory_format(dim_order),
    )


def _to_dim_order_copy_out(
    self: torch.Tensor, *, non_blocking: bool = False, dim_order: DimOrder = None, out: torch.Tensor
) -> torch.Tensor:
    return out.copy_(self, non_blocking=non_blocking)


def _empty_dim_order(
    size: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    dim_order: DimOrder = None,
) -> torch.Tensor:
    memory_format = torch.contiguous_format if dim_order is None else _memory_format(dim_order)
    return torch.ops.aten.empty.memory_format(
        size, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory, memory_format=memory_format
    )


def _empty_dim_order_out(size: Sequence[int], *, dim_order: DimOrder = None, out: torch.Tensor) -> torch.Tensor:
    return out


def _clone_dim_order(self: torch.Tensor, *, non_blocking: bool = False, dim_order: DimOrder = None) -> torch.Tensor:
    return torch.ops.aten.clone.default(self, memory_format=_memory_format(dim_order))


def _register() -> torch.library.Library | None:
    if hasattr(torch.ops.dim_order_ops, "_to_dim_order_copy"):
        return None  # The original's package, imported in the same process, defines the same operators.
    library = torch.library.Library("dim_order_ops", "DEF")
    for schema in _SCHEMAS:
        library.define(schema)
    for name, function in (
        ("_to_dim_order_copy", _to_dim_order_copy),
        ("_to_dim_order_copy.out", _to_dim_order_copy_out),
        ("_empty_dim_order", _empty_dim_order),
        ("_empty_dim_order.out", _empty_dim_order_out),
        ("_clone_dim_order", _clone_dim_order),
        ("_clone_dim_order.out", _to_dim_order_copy_out),
    ):
        library.impl(name, function, "CompositeExplicitAutograd")
    return library


lib = _register()
