# SPDX-License-Identifier: BSD-3-Clause
"""ExecuTorch's name of the module `sdk.exir.operator.prim_ops`."""

from __future__ import annotations

from sdk.exir.operator.prim_ops import PYTHON_SYM_OPS, lib

__all__ = ["PYTHON_SYM_OPS", "lib"]
