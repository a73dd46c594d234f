# SPDX-License-Identifier: BSD-3-Clause
"""Debug handles: numbers that relate an instruction to the node it was emitted from."""

from __future__ import annotations

DEBUG_HANDLE_KEY = "debug_handle"
"""Key of the handle in `node.meta`."""

UNSET_DEBUG_HANDLE = 0
"""The handle of nodes that no handle was generated for."""
