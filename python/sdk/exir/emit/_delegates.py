# SPDX-License-Identifier: BSD-3-Clause
"""The lowered modules that a method calls, and their maps for debugging tools."""

from __future__ import annotations

from typing import Any

from sdk.exir.emit._program_data import ProgramData
from sdk.exir.schema import BackendDelegate, BackendDelegateDataReference, DataLocation


class Delegates:
    """The delegates of a method; a module that is called twice is listed once."""

    def __init__(self, data: ProgramData) -> None:
        self.items: list[BackendDelegate] = []
        self._data = data
        self._index: dict[int, int] = {}

    def index_of(self, lowered: Any) -> int:
        """Returns the number of a lowered module. Adds the module if it is new."""
        if id(lowered) not in self._index:
            self._index[id(lowered)] = len(self.items)
            data = self._data.add_delegate(lowered.processed_bytes)
            reference = BackendDelegateDataReference(DataLocation.INLINE, data)
            self.items.append(BackendDelegate(lowered.backend_id, reference, list(lowered.compile_specs)))
        return self._index[id(lowered)]


def debug_handles_of(lowered: Any) -> list[int] | None:
    """The debug handles of the operators that were lowered, in order; None if the module does not keep them. Inputs
    have handles too, of the instructions that compute them."""
    original = getattr(lowered, "original_module", None)
    if original is None:
        return None
    calls = (node for node in original.graph.nodes if node.op == "call_function")
    return sorted({n.meta["debug_handle"] for n in calls if n.meta.get("debug_handle") is not None})


def debug_ids_of(lowered: Any) -> dict[str, Any]:
    """The backend's name, and the debug handles of each of its identifiers. If the backend says what it records,
    `value_map` has the node and the layout of each identifier's value."""
    meta = getattr(lowered, "meta", None) or {}
    ids = {"name": lowered.backend_id, "delegate_map": meta.get("debug_handle_map") or {}}
    if values := meta.get("debug_value_map"):
        ids["value_map"] = values
    return ids
