# SPDX-License-Identifier: BSD-3-Clause
"""MIL's operations in PyTorch, by name. Sources: Apple's reference of MIL's operations."""

from __future__ import annotations

from importlib import import_module

from sdk.backends.apple.coreml.verify.operations.registry import OPERATIONS, operation

for _name in ("constants", "elementwise", "images", "indexing", "matrix", "normalization", "recurrent", "shapes"):
    import_module(f"{__name__}.{_name}")

__all__ = ["OPERATIONS", "operation"]
