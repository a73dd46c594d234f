# SPDX-License-Identifier: BSD-3-Clause
"""Errors in backends: adds their context, in the same form as for errors in passes, and describes wrong tags."""

from __future__ import annotations

from sdk.exir._messages import add_context, source_of

__all__ = ["ChangedGraphError", "TagError", "add_context", "source_of"]


class TagError(RuntimeError, ValueError):
    """Raised for tags from which no delegate can be made. ExecuTorch raises RuntimeError."""


class ChangedGraphError(AssertionError, ValueError):
    """Raised if a partitioner did more than set tags. ExecuTorch raises AssertionError."""
