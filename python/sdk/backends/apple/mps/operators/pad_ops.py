# SPDX-License-Identifier: BSD-3-Clause
"""Padding."""

from __future__ import annotations

import torch
from torch.fx import Node

from sdk.backends.apple.mps.operators.node_visitor import (
    NodeVisitor,
    arguments,
    dtype_of,
    is_exact,
    register_node_visitor,
)
from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.apple.mps.serialization.shape_nodes import MPSConstantPadND

_MOST_DIMENSIONS = 3


@register_node_visitor
class ConstantPadNDVisitor(NodeVisitor):
    """Padding of up to three dimensions with a number."""

    target = "aten.constant_pad_nd.default"

    def refusal(self, node: Node) -> str | None:
        given = arguments(node)
        if any(isinstance(size, Node) or size < 0 for size in given["pad"]):
            return "MPS adds elements and does not remove them"
        if not 0 < len(given["pad"]) <= 2 * _MOST_DIMENSIONS:
            return f"MPS pads 1 to {_MOST_DIMENSIONS} dimensions"
        if dtype_of(node) == torch.bool:
            return "MPS does not pad bool"
        value = given["value"]
        return None if isinstance(value, float) or is_exact(value) else f"{value} is not a number of float32"

    def define_node(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments(node)
        value = self.define_tensor(given["self"], mps_graph)
        pad = [int(size) for size in given["pad"]]
        number = float(torch.tensor(float(given["value"]), dtype=torch.float64).to(torch.float32))
        self.add(MPSConstantPadND(value, self.define_tensor(node, mps_graph), pad, number), mps_graph)
