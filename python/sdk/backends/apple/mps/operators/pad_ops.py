# SPDX-License-Identifier: BSD-3-Clause
"""Padding."""

from __future__ import annotations

import torch
from torch.fx import Node

from sdk.backends.apple.mps.operators.node_visitor import NodeVisitor, is_exact, register_node_visitor, shape_of
from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.apple.mps.serialization.shape_nodes import MPSConstantPadND, MPSIndexSelect
from sdk.backends.graph.names import arguments_of, name_of
from sdk.backends.graph.shapes import dtype_of

_MOST_DIMENSIONS = 3


@register_node_visitor
class ConstantPadNDVisitor(NodeVisitor):
    """Padding of up to three dimensions with a number."""

    target = "aten.constant_pad_nd.default"

    def refusal(self, node: Node) -> str | None:
        given = arguments_of(node)
        if any(isinstance(size, Node) or size < 0 for size in given["pad"]):
            return "MPS adds elements and does not remove them"
        if not 0 < len(given["pad"]) <= 2 * _MOST_DIMENSIONS:
            return f"MPS pads 1 to {_MOST_DIMENSIONS} dimensions"
        if dtype_of(node) == torch.bool:
            return "MPS does not pad bool"
        value = given["value"]
        return None if isinstance(value, float) or is_exact(value) else f"{value} is not a number of float32"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
        value = self.define_tensor(given["self"], mps_graph)
        pad = [int(size) for size in given["pad"]]
        number = float(torch.tensor(float(given["value"]), dtype=torch.float64).to(torch.float32))
        self.add(MPSConstantPadND(value, self.define_tensor(node, mps_graph), pad, number), mps_graph)


@register_node_visitor
class EdgePadVisitor(NodeVisitor):
    """Padding with elements of the operand. One index_select with constant positions pads each dimension."""

    target = tuple(f"aten.{kind}_pad{rank}d.default" for kind in ("reflection", "replication") for rank in (1, 2, 3))

    def refusal(self, node: Node) -> str | None:
        if any(isinstance(size, Node) for size in arguments_of(node)["padding"]):
            return "MPS pads by sizes that are known"
        return "MPS does not pad bool" if dtype_of(node) == torch.bool else None

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
        value, sizes = self.define_tensor(given["self"], mps_graph), shape_of(given["self"])
        padding = [int(size) for size in given["padding"]]  # pairs of sizes before and after, the last dimension first
        for number in range(len(padding) // 2):
            dim, size = len(sizes) - 1 - number, sizes[-1 - number]
            positions = torch.arange(-padding[2 * number], size + padding[2 * number + 1], dtype=torch.int32)
            if "reflection" in name_of(node):
                positions = size - 1 - (size - 1 - positions.abs()).abs()
            else:
                positions = positions.clamp(0, size - 1)
            sizes[dim] = len(positions)
            is_last = number == len(padding) // 2 - 1
            made = (
                self.define_tensor(node, mps_graph) if is_last else self.define_value(dtype_of(node), sizes, mps_graph)
            )
            key = ("positions", tuple(positions.tolist()))
            self.add(MPSIndexSelect(value, made, dim, self.define_constant(positions, mps_graph, key)), mps_graph)
            value = made
