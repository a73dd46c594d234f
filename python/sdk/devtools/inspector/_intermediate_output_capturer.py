# SPDX-License-Identifier: BSD-3-Clause
"""Captures the result of every operator of a graph in eager mode."""

from __future__ import annotations

import operator
from enum import Enum
from typing import Any, TypeAlias

import torch
from torch.fx import GraphModule, Interpreter, Node
from torch.utils import _pytree as pytree

from sdk.exir.debug_handle_utils import DEBUG_HANDLE_KEY

DebugHandle: TypeAlias = tuple[int, ...]


def handle_of(node: Node) -> DebugHandle | None:
    """The debug handles of a call in a graph; None for a node without handles, and for elements of results."""
    handle = node.meta.get(DEBUG_HANDLE_KEY)
    if node.op != "call_function" or not handle or node.target is operator.getitem:
        return None
    return (handle,) if isinstance(handle, int) else tuple(handle)


class Kind(Enum):
    """Tells operators with the same debug handle apart: the quantize and dequantize nodes of a result share its
    handle."""

    QUANTIZE = "quantize"
    DEQUANTIZE = "dequantize"
    OTHER = "other"

    @staticmethod
    def of(operator: Any) -> Kind:
        """The kind of a node, or of an operator by its name, with or without the namespace."""
        if isinstance(operator, Node):
            operator = getattr(operator.target, "__name__", "") if operator.op == "call_function" else ""
        name = str(operator).removeprefix("quantized_decomposed.").removeprefix("torchao.")
        if name.startswith(("quantize_per", "quantize_affine")):
            return Kind.QUANTIZE
        return Kind.DEQUANTIZE if name.startswith(("dequantize_per", "dequantize_affine")) else Kind.OTHER


class IntermediateOutputCapturer(Interpreter):
    """Runs a graph and keeps the result of every operator that has a debug handle.

    If several operators share a handle, the result of the last one is kept. Results are copied, because a later
    operator may write to them.

    Attributes:
        by_kind: The results of the last operator of each kind that has the handle.
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self._captured: dict[DebugHandle, Any] = {}
        self.by_kind: dict[tuple[DebugHandle, Kind], Any] = {}

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
            self._captured[handle] = self.by_kind[handle, Kind.of(n)] = _copy(result)
        return result


def _copy(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        return [_copy(item) for item in value]
    return value
