# SPDX-License-Identifier: BSD-3-Clause
"""Programs between the stages of lowering."""

from __future__ import annotations

from typing import Any

__all__ = ["EdgeProgramManager", "ExecutorchProgramManager", "to_edge", "to_edge_transform_and_lower"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sdk.exir.program import _program

    return getattr(_program, name)
