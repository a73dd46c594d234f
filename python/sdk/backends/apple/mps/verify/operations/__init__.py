# SPDX-License-Identifier: BSD-3-Clause
"""Implements the operations of a payload with PyTorch."""

from __future__ import annotations

from sdk.backends.apple.mps.verify.operations import elementwise, indexing, shapes, windows
from sdk.backends.apple.mps.verify.operations.registry import OPERATIONS, OWN_DTYPE

__all__ = ["OPERATIONS", "OWN_DTYPE", "elementwise", "indexing", "shapes", "windows"]
