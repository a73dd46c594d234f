# SPDX-License-Identifier: BSD-3-Clause
"""Converts programs to the bytes of `.pte` files and back."""

from __future__ import annotations

from sdk.exir._serialize._program import PTEFile as _PTEFile
from sdk.exir._serialize._program import deserialize_pte_binary as _deserialize_pte_binary
from sdk.exir._serialize._program import serialize_pte_binary as _serialize_pte_binary

__all__ = ["_PTEFile", "_deserialize_pte_binary", "_serialize_pte_binary"]
