# SPDX-License-Identifier: BSD-3-Clause
"""Registers `torch.ops.cadence` with out variants when it is imported."""

from __future__ import annotations

import torch
from torch.library import Library

from sdk.backends.cadence.aot.operators import (  # noqa: F401  (declare operators)
    attention,
    convolution,
    images,
    linear,
    pointwise,
    quantize,
    w8a32,
)
from sdk.backends.cadence.aot.operators.registry import register

lib = Library("cadence", "FRAGMENT")
aten_lib = Library("aten", "FRAGMENT")

_ROWS = "Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1"
_VIEWS = {
    "_slice_copy_nop": (f"_slice_copy_nop({_ROWS}) -> Tensor(a!)", torch.ops.aten.slice_copy.Tensor),
    "_slice_copy_nop.Tensor_out": (
        f"_slice_copy_nop.Tensor_out({_ROWS}, *, Tensor(a!) out) -> Tensor(a!)",
        torch.ops.aten.slice_copy.Tensor_out,
    ),
    "_select_copy_nop.int_out": (
        "_select_copy_nop.int_out(Tensor self, int dim, SymInt index, *, Tensor(a!) out) -> Tensor(a!)",
        torch.ops.aten.select_copy.int_out,
    ),
    "_cat_nop": ("_cat_nop(Tensor[] tensors, int dim=0) -> Tensor(a!)", torch.ops.aten.cat.default),
    "_cat_nop.out": (
        "_cat_nop.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)",
        torch.ops.aten.cat.out,
    ),
}
"""Copies whose result shares the memory of the operand, so that they do nothing at run time."""


def _register_views() -> None:
    for name, (schema, function) in _VIEWS.items():
        base, _, overload = name.partition(".")
        _, known = torch._C._jit_get_operation(f"aten::{base}")
        if overload not in (known or []):
            aten_lib.define(schema)
            aten_lib.impl(name, function, "CompositeExplicitAutograd")
    _, known = torch._C._jit_get_operation("aten::rms_norm")
    if "out" not in (known or []):
        aten_lib.define(
            "rms_norm.out(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None, *, "
            "Tensor(a!) out) -> Tensor(a!)"
        )
        aten_lib.impl("rms_norm.out", _rms_norm_out, "CompositeExplicitAutograd")


def _rms_norm_out(input: torch.Tensor, normalized_shape: list[int], weight: torch.Tensor | None = None,
                  eps: float | None = None, *, out: torch.Tensor) -> torch.Tensor:  # fmt: skip
    value = torch.rms_norm(input, normalized_shape, weight, eps)
    return out.resize_(value.shape).copy_(value)


register(lib)
_register_views()
