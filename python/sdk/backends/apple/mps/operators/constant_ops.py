# SPDX-License-Identifier: BSD-3-Clause
"""Tensors of one number, and ranges of numbers."""

from __future__ import annotations

import math

import torch
from torch.fx import Node

from sdk.backends.apple.mps.operators.node_visitor import NodeVisitor, is_exact, register_node_visitor, shape_of
from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.apple.mps.serialization.mps_data_type import edge_dtype_to_mps_dtype
from sdk.backends.apple.mps.serialization.shape_nodes import MPSFull, MPSFullLike
from sdk.backends.graph.names import arguments_of, name_of
from sdk.backends.graph.shapes import dtype_of

_EMPTY = ("aten.empty.memory_format", "dim_order_ops._empty_dim_order.default")


@register_node_visitor
class ConstantOpVisitor(NodeVisitor):
    """full, full_like, scalar_tensor, and empty, whose elements are zeros."""

    target = ("aten.full.default", "aten.full_like.default", "aten.scalar_tensor.default", *_EMPTY)

    def refusal(self, node: Node) -> str | None:
        value = self._number(node)
        if isinstance(value, Node):
            return "the number is computed when the program runs"
        if dtype_of(node) not in (torch.float16, torch.float32) and not is_exact(value):
            return f"{value} is not a number of float32"
        return None

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        value = float(self._number(node))
        dtype = self.stored(dtype_of(node))
        if dtype in (torch.float16, torch.float32) and math.isfinite(value):
            limits = torch.finfo(dtype)
            if dtype == torch.float16 or abs(value) <= limits.max:
                value = min(max(value, limits.min), limits.max)
        mps_dtype = edge_dtype_to_mps_dtype(dtype)
        if name_of(node) == "aten.full_like.default":
            operand = self.define_tensor(node.args[0], mps_graph)
            self.add(MPSFullLike(operand, self.define_tensor(node, mps_graph), value, mps_dtype), mps_graph)
            return
        shape = shape_of(node) or [1]
        self.add(MPSFull(self.define_tensor(node, mps_graph), shape, value, mps_dtype), mps_graph)

    def _number(self, node: Node) -> float | Node:
        name = name_of(node)
        if name in _EMPTY:
            return 0
        number: float | Node = arguments_of(node)["s" if name == "aten.scalar_tensor.default" else "fill_value"]
        return number
