# SPDX-License-Identifier: BSD-3-Clause
"""clamp, and where."""

from __future__ import annotations

import math

import torch
from torch.fx import Node

from sdk.backends.apple.mps.operators.node_visitor import NodeVisitor, is_exact, register_node_visitor
from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.apple.mps.serialization.nodes import MPSClamp, MPSMinMax
from sdk.backends.apple.mps.serialization.shape_nodes import MPSWhere
from sdk.backends.graph.names import arguments_of
from sdk.backends.graph.shapes import dtype_of


@register_node_visitor
class ClampVisitor(NodeVisitor):
    """clamp with numbers as bounds."""

    target = "aten.clamp.default"

    def refusal(self, node: Node) -> str | None:
        bounds = [arguments_of(node)[name] for name in ("min", "max")]
        if dtype_of(node) == torch.bool:
            return "MPS has no arithmetic of bool"
        if any(isinstance(bound, Node) for bound in bounds):
            return "a bound is computed, and MPS has numbers"
        if any(isinstance(bound, int) and not is_exact(bound) for bound in bounds):
            return "a bound is not a number of float32"
        return None

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
        low = -math.inf if given["min"] is None else float(given["min"])
        high = math.inf if given["max"] is None else float(given["max"])
        value = self.operand(given["self"], self.stored(dtype_of(node)), mps_graph)
        self.add(MPSClamp(value, self.define_tensor(node, mps_graph)), mps_graph, MPSMinMax(low, high))


@register_node_visitor
class WhereVisitor(NodeVisitor):
    """where with three tensors."""

    target = "aten.where.self"

    def refusal(self, node: Node) -> str | None:
        condition = node.args[0]
        assert isinstance(condition, Node)
        return None if dtype_of(condition) == torch.bool else "MPS has conditions of bool"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        dtype = self.stored(dtype_of(node))
        condition = self.define_tensor(node.args[0], mps_graph)
        chosen, other = (self.operand(operand, dtype, mps_graph) for operand in node.args[1:3])
        self.add(MPSWhere(condition, chosen, other, self.define_tensor(node, mps_graph)), mps_graph)
