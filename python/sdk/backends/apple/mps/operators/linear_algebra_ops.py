# SPDX-License-Identifier: BSD-3-Clause
"""Matrix products."""

from __future__ import annotations

from torch.fx import Node

from sdk.backends.apple.mps.operators.node_visitor import FLOATS, NodeVisitor, register_node_visitor
from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.apple.mps.serialization.nodes import MPSMatMul
from sdk.backends.apple.mps.serialization.shape_nodes import MPSAddmm
from sdk.backends.graph.names import arguments_of
from sdk.backends.graph.shapes import dtype_of


class _OfFloats(NodeVisitor):
    def refusal(self, node: Node) -> str | None:
        return None if dtype_of(node) in FLOATS else "MPS multiplies matrices of floats only"


@register_node_visitor
class MatMulVisitor(_OfFloats):
    """mm and bmm."""

    target = ("aten.mm.default", "aten.bmm.default")

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        left, right = (self.define_tensor(operand, mps_graph) for operand in node.args[:2])
        self.add(MPSMatMul(left, right, self.define_tensor(node, mps_graph)), mps_graph)


@register_node_visitor
class AddmmVisitor(_OfFloats):
    """addmm."""

    target = "aten.addmm.default"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
        bias, left, right = (self.define_tensor(given[name], mps_graph) for name in ("self", "mat1", "mat2"))
        result = self.define_tensor(node, mps_graph)
        self.add(MPSAddmm(bias, left, right, result, float(given["beta"]), float(given["alpha"])), mps_graph)
