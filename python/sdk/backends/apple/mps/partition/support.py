# SPDX-License-Identifier: BSD-3-Clause
"""Decides which nodes MPS gets, and gives the reasons for the others."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.utils import _pytree as pytree

from sdk.backends.apple.mps.mps_preprocess import fold
from sdk.backends.apple.mps.operators.node_visitor import get_node_visitors
from sdk.backends.graph.names import name_of
from sdk.backends.partition import Support
from sdk.backends.transforms.constants import is_constant

_DTYPES = (
    torch.float16, torch.float32, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool,
)  # fmt: skip
_TOGETHER = "quantized_decomposed."
_COPIES = ("getitem", "aten.clone.default", "dim_order_ops._clone_dim_order.default")


class MPSSupport(Support):
    """Decides which calls of a program MPS gets."""

    title = "MPS"

    def __init__(self, program: ExportedProgram, use_fp16: bool) -> None:
        super().__init__(program)
        self._visitors = get_node_visitors(program, use_fp16)

    def refusal(self, node: Node) -> str | None:
        """Returns why MPS does not get a call, or None if it does or if the result is a constant. Must be called in the
        order of the graph."""
        if node.target is operator.getitem:
            call = node.args[0]
            assert isinstance(call, Node)
            taken = call.op == "call_function" and name_of(call) in self._visitors
            reason = self.refusal(call) if taken else ""
            return reason or self._tensor_refusal(node)
        reason = self._call_refusal(node)
        if reason is None or self._tensor_refusal(node) is not None:
            return reason
        return None if fold(self.program, node, self._visitors) else reason

    def _call_refusal(self, node: Node) -> str | None:
        if name_of(node) in self._visitors and not name_of(node).startswith(_TOGETHER):
            for each in (node, *node.all_input_nodes):
                reason = self._tensor_refusal(each)
                if reason is not None:
                    return reason
        return self._visitors.refusal(node)

    def _tensor_refusal(self, node: Node) -> str | None:
        value = node.meta.get("val")
        if isinstance(value, (tuple, list)):
            return None  # each result is a node, of getitem
        if not isinstance(value, torch.Tensor):
            return f"{node.name} is not a tensor, and MPS has only tensors"
        if value.dtype not in _DTYPES:
            return f"MPS has no {str(value.dtype).removeprefix('torch.')}"
        if any(not isinstance(size, int) for size in value.shape):
            return "a size is not known when the program is compiled; programs for MPS have fixed shapes"
        return "MPS has no empty tensors" if value.numel() == 0 else None

    def conflicts(self, nodes: Sequence[Node], part_of: Mapping[Node, int]) -> Iterable[tuple[Node, str]]:
        members = set(nodes)
        found: dict[Node, str] = {}
        for node in nodes:
            crossing = [n for n in node.all_input_nodes if n not in members and not is_constant(self.program, n)]
            if any(user not in members for user in node.users):
                crossing.append(node)
            for each in crossing:
                value = each.meta.get("val")
                if isinstance(value, (tuple, list)):
                    found[node] = "its results are read by parts that MPS does not take"
                elif isinstance(value, torch.Tensor) and not _is_contiguous(value):
                    found[node] = f"{each.name} is in another dim order where it enters or leaves the delegate"
            if name_of(node).startswith(_TOGETHER) and any(
                user not in members for item in node.users for user in (item, *_items(item))
            ):
                found[node] = "it is read by a part that MPS does not take"
        return found.items()

    def is_free(self, node: Node) -> bool:
        """Whether a call copies, reads constants only, or returns nothing."""
        values = pytree.tree_leaves(node.meta.get("val"))
        operands = [operand for operand in node.all_input_nodes if not is_constant(self.program, operand)]
        return name_of(node) in _COPIES or not operands or not values


def _items(node: Node) -> list[Any]:
    return list(node.users) if node.target is operator.getitem else []


def _is_contiguous(value: torch.Tensor) -> bool:
    return list(value.dim_order()) == list(range(value.dim()))
