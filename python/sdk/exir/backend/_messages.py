# SPDX-License-Identifier: BSD-3-Clause
"""Errors in backends: their context, in the form that errors in passes have, and what a partitioner did wrong."""

from __future__ import annotations

from sdk.exir._messages import add_context, source_of

__all__ = ["ChangedGraphError", "TagError", "add_context", "source_of"]


class TagError(RuntimeError, ValueError):
    """Tags from which no delegate can be made. ExecuTorch raises RuntimeError."""


class ChangedGraphError(AssertionError, ValueError):
    """A partitioner that did more than to set tags. ExecuTorch raises AssertionError."""
