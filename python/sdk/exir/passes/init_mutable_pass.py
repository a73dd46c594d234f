# SPDX-License-Identifier: BSD-3-Clause
"""Marks buffers whose initial values are stored in the program."""

from __future__ import annotations

from typing import Any

from sdk.exir.pass_base import ExportPass, NodeMetadata, ProxyValue


class InitializedMutableBufferPass(ExportPass):
    """Sets `meta["et_init_buffer"]` on buffers whose name contains one of the patterns.

    This exporter stores the initial value of every mutable buffer, so the mark has no effect. The pass exists for
    compatibility.
    """

    def __init__(self, patterns: list[str]) -> None:
        super().__init__()
        self.patterns = patterns

    def placeholder(self, name: str, arg: Any, meta: NodeMetadata) -> ProxyValue:
        if any(pattern in name for pattern in self.patterns):
            data = dict(meta.data)
            data["et_init_buffer"] = True
            meta = NodeMetadata(data)
        return super().placeholder(name, arg, meta)
