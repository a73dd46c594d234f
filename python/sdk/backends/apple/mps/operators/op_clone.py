# SPDX-License-Identifier: BSD-3-Clause
"""Copies and conversions."""

from __future__ import annotations

import torch
from torch.fx import Node

from sdk.backends.apple.mps.operators.node_visitor import NodeVisitor, register_node_visitor
from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.apple.mps.serialization.mps_data_type import edge_dtype_to_mps_dtype
from sdk.backends.apple.mps.serialization.nodes import MPSNe
from sdk.backends.apple.mps.serialization.shape_nodes import MPSCast
from sdk.backends.graph.shapes import dtype_of


@register_node_visitor
class CloneVisitor(NodeVisitor):
    """A copy, which may convert the dtype; as bool, every number except zero is true."""

    target = (
        "aten.clone.default",
        "aten._to_copy.default",
        "dim_order_ops._clone_dim_order.default",
        "dim_order_ops._to_dim_order_copy.default",
    )

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        operand = node.args[0]
        assert isinstance(operand, Node)
        before, after = self.stored(dtype_of(operand)), self.stored(dtype_of(node))
        value = self.define_tensor(operand, mps_graph)
        if before == after:
            self.tensor_to_id[node] = value
        elif after == torch.bool:
            zero = self.operand(0, before, mps_graph)
            self.add(MPSNe(value, zero, self.define_tensor(node, mps_graph)), mps_graph)
        else:
            self.add(MPSCast(value, self.define_tensor(node, mps_graph), edge_dtype_to_mps_dtype(after)), mps_graph)
