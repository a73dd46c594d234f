# SPDX-License-Identifier: BSD-3-Clause
"""Captures the result of every operator of a graph in eager mode."""

from __future__ import annotations

import operator
from typing import Any, TypeAlias

import torch
from torch.fx import GraphModule, Interpreter, Node
from torch.utils import _pytree as pytree

from sdk.exir.debug_handle_utils import DEBUG_HANDLE_KEY

DebugHandle: TypeAlias = tuple[int, ...]


def handle_of(node: Node) -> DebugHandle | None:
    """The debug handles of a call in a graph; None for a node without, and for elements of results."""
    handle = node.meta.get(DEBUG_HANDLE_KEY)
    if node.op != "call_function" or not handle or node.target is operator.getitem:
        return None
    return (handle,) if isinstance(handle, int) else tuple(handle)


class IntermediateOutputCapturer(Interpreter):
    """Runs a graph and keeps the result of every operator that has a debug handle.

    Of several operators with one handle, the result of the last one is kept. Results are copied: a later operator may
    write to them.
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self._captured: dict[DebugHandle, Any] = {}

    def run_and_capture(self, *args: Any, **kwargs: Any) -> dict[DebugHandle, Any]:
        """The results by debug handle, in the order of the graph."""
        self._captured = {}
        with torch.no_grad():
            self.run(*pytree.tree_leaves((args, kwargs)), enable_io_processing=False)
        return self._captured

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        handle = handle_of(n)
        if handle is not None:
            self._captured.pop(handle, None)
            self._captured[handle] = _copy(result)
        return result


def _copy(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        return [_copy(item) for item in value]
    return value
