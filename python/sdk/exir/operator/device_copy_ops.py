# SPDX-License-Identifier: BSD-3-Clause
"""Registers `et_copy`: copies between host and device memory, which in Python are copies in host memory."""

from __future__ import annotations

import torch
from torch.library import Library


def _copy(self: torch.Tensor) -> torch.Tensor:
    return self.clone()


def _copy_out(self: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    return out.resize_(self.shape).copy_(self)


def _register() -> Library | None:
    if hasattr(torch.ops.et_copy, "_h2d_copy"):
        return None  # The original's package, imported in the same process, defines the same operators.
    library = Library("et_copy", "DEF")
    for name in ("_h2d_copy", "_d2h_copy"):
        library.define(f"{name}(Tensor self) -> Tensor")
        library.define(f"{name}.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)")
        library.impl(name, _copy, "CompositeExplicitAutograd")
        library.impl(f"{name}.out", _copy_out, "CompositeExplicitAutograd")
    return library


lib = _register()
