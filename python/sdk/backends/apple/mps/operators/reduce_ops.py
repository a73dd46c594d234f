# SPDX-License-Identifier: BSD-3-Clause
"""Reductions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar

import torch
from torch.fx import Node

from sdk.backends.apple.mps.operators.node_visitor import FLOATS, NodeVisitor, register_node_visitor, shape_of, wrapped
from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.apple.mps.serialization.nodes import MPSGt, MPSMul, MPSNe
from sdk.backends.apple.mps.serialization.shape_nodes import MPSMean
from sdk.backends.graph.names import arguments_of
from sdk.backends.graph.shapes import dtype_of


@register_node_visitor
class MeanVisitor(NodeVisitor):
    """Means over the given dimensions, or over all if none are given."""

    target: ClassVar[str | Sequence[str]] = "aten.mean.dim"

    def refusal(self, node: Node) -> str | None:
        if not shape_of(arguments_of(node)["self"]):
            return _NO_DIMENSIONS
        return None if dtype_of(node) in FLOATS else "MPS reduces floats"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        self.mean(node, dtype_of(node), mps_graph, result=self.define_tensor)

    def mean(
        self,
        node: Node,
        dtype: torch.dtype,
        mps_graph: MPSGraph,
        value: int | None = None,
        result: Callable[[Node, MPSGraph], int] | None = None,
    ) -> tuple[int, int]:
        """Adds the mean over a reduction's dimensions. Returns its id, which `result` makes if given, and the number of
        elements. `value` is the tensor to reduce; by default the node's operand, in the dtype `dtype`."""
        given = arguments_of(node)
        sizes = shape_of(given["self"])
        asked = [given["dim"]] if isinstance(given["dim"], int) else given["dim"]
        dims = sorted({wrapped(dim, len(sizes)) for dim in (asked or range(len(sizes)))})
        if value is None:
            value = self.operand(given["self"], self.stored(dtype), mps_graph)
        made = result(node, mps_graph) if result else self.define_value(dtype, shape_of(node), mps_graph)
        self.add(MPSMean(value, made, len(dims), dims, bool(given["keepdim"])), mps_graph)
        return made, math.prod(sizes[dim] for dim in dims)


@register_node_visitor
class SumVisitor(MeanVisitor):
    """Sums over dimensions: means times the number of elements."""

    target = "aten.sum.dim_IntList"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        mean, count = self.mean(node, dtype_of(node), mps_graph)
        factor = self.define_scalar(count, dtype_of(node), mps_graph)
        self.add(MPSMul(mean, factor, self.define_tensor(node, mps_graph)), mps_graph)


@register_node_visitor
class AnyVisitor(MeanVisitor):
    """Whether an element of a dimension is true. Computed in float32, as a mean of ones and zeros that is above 0."""

    target = ("aten.any.dim", "aten.any.dims")

    def refusal(self, node: Node) -> str | None:
        return None if shape_of(arguments_of(node)["self"]) else _NO_DIMENSIONS

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        operand = arguments_of(node)["self"]
        value, dtype = self.define_tensor(operand, mps_graph), self.stored(dtype_of(operand))
        if dtype != torch.bool:
            zero = self.operand(0, dtype, mps_graph)
            truth = self.define_value(torch.bool, shape_of(operand), mps_graph)
            self.add(MPSNe(value, zero, truth), mps_graph)
            value = truth
        ones = self.cast(value, torch.float32, shape_of(operand), mps_graph)
        mean, _ = self.mean(node, torch.float32, mps_graph, ones)
        zero = self.operand(0, torch.float32, mps_graph)
        self.add(MPSGt(mean, zero, self.define_tensor(node, mps_graph)), mps_graph)


_NO_DIMENSIONS = "MPS reduces tensors of rank 1 at least"
