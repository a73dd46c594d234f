# SPDX-License-Identifier: BSD-3-Clause
"""Sequences of numbers."""

from __future__ import annotations

import math

import torch
from torch.fx import Node

from sdk.backends.apple.mps.operators.node_visitor import NodeVisitor, is_exact, register_node_visitor, shape_of
from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.apple.mps.serialization.mps_data_type import edge_dtype_to_mps_dtype
from sdk.backends.apple.mps.serialization.shape_nodes import MPSArange
from sdk.backends.graph.names import arguments_of
from sdk.backends.graph.shapes import dtype_of


@register_node_visitor
class ArangeVisitor(NodeVisitor):
    """arange. If the payload has float16 in place of a float32 result, the numbers are computed in float32 and then
    converted to float16."""

    target = "aten.arange.start_step"

    def refusal(self, node: Node) -> str | None:
        start, end, step = _numbers(node)
        if any(isinstance(number, Node) for number in (start, end, step)):
            return "the range is computed when the program runs"
        if not all(is_exact(number) for number in (start, end, step)):
            return "the range has numbers that float32 cannot represent"
        if math.ceil((end - start) / step) != shape_of(node)[0]:
            return "the number of elements depends on the rounding of a division"
        return None

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        dtype = dtype_of(node)
        start, end, step = _numbers(node)
        made = self.define_tensor(node, mps_graph)
        self.add(MPSArange(made, float(start), float(end), float(step), edge_dtype_to_mps_dtype(dtype)), mps_graph)
        if self.stored(dtype) != dtype:
            self.cast_in_place(made, torch.float16, mps_graph)


def _numbers(node: Node) -> tuple[float, float, float]:
    given = arguments_of(node)
    return given["start"], given["end"], given.get("step", 1)
