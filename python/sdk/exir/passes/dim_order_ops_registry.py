# SPDX-License-Identifier: BSD-3-Clause
"""ExecuTorch's name of the module `sdk.exir.operator.dim_order_ops`."""

from __future__ import annotations

from sdk.exir.operator.dim_order_ops import DimOrder, lib

__all__ = ["DimOrder", "lib"]
