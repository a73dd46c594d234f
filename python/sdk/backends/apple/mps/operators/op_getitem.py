# SPDX-License-Identifier: BSD-3-Clause
"""`getitem`, which selects one of several results."""

from __future__ import annotations

from torch.fx import Node

from sdk.backends.apple.mps.operators.node_visitor import NodeVisitor, register_node_visitor
from sdk.backends.apple.mps.serialization.graph import MPSGraph


@register_node_visitor
class GetItemVisitor(NodeVisitor):
    """Selects one of the results of a call."""

    target = "getitem"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        self.tensor_to_id[node] = self.tensor_to_id[node.args[0]][node.args[1]]
