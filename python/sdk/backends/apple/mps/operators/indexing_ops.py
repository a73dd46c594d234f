# SPDX-License-Identifier: BSD-3-Clause
"""Reading and writing at indices. MPSGraph gathers and scatters along one dimension."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from sdk.backends.apple.mps.operators.node_visitor import (
    NodeVisitor,
    arguments,
    dtype_of,
    register_node_visitor,
    shape_of,
    wrapped,
)
from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.apple.mps.serialization.nodes import ABSENT, MPSAdd, MPSLt
from sdk.backends.apple.mps.serialization.shape_nodes import (
    MPSEmbedding,
    MPSIndexPut,
    MPSIndexSelect,
    MPSIndexTensor,
    MPSScatter,
    MPSWhere,
)

_INTEGERS = (torch.int32, torch.int64)


@register_node_visitor
class IndexSelectVisitor(NodeVisitor):
    """index_select."""

    target = "aten.index_select.default"

    def define_node(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments(node)
        value = self.define_tensor(given["self"], mps_graph)
        index = self.define_tensor(given["index"], mps_graph)
        dim = wrapped(given["dim"], len(shape_of(given["self"])))
        self.add(MPSIndexSelect(value, self.define_tensor(node, mps_graph), dim, index), mps_graph)


@register_node_visitor
class EmbeddingVisitor(NodeVisitor):
    """embedding. The row of `padding_idx` is read like others, as in PyTorch, so the payload has none."""

    target = "aten.embedding.default"

    def refusal(self, node: Node) -> str | None:
        return None if shape_of(arguments(node)["indices"]) else "MPS has indices of rank 1 at least"

    def define_node(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments(node)
        weight, indices = (self.define_tensor(given[name], mps_graph) for name in ("weight", "indices"))
        self.add(MPSEmbedding(weight, indices, self.define_tensor(node, mps_graph), -1), mps_graph)


class _Advanced(NodeVisitor):
    """index and index_put, whose indices may be negative."""

    def refusal(self, node: Node) -> str | None:
        indices = [index for index in arguments(node)["indices"] if index is not None]
        if len(indices) != 1:
            return f"MPS has indices of one dimension at a time; these are of {len(indices)}"
        if dtype_of(indices[0]) not in _INTEGERS:
            return "MPS has indices of int32 and int64"
        return None if shape_of(indices[0]) else "MPS has indices of rank 1 at least"

    def _ids(self, node: Node, mps_graph: MPSGraph) -> list[int]:
        """The ids of the indices by dimension."""
        sizes = shape_of(arguments(node)["self"])
        return [
            ABSENT if index is None else self._positive(index, sizes[dim], mps_graph)
            for dim, index in enumerate(arguments(node)["indices"])
        ]

    def _positive(self, index: Node, size: int, mps_graph: MPSGraph) -> int:
        """The id of indices from 0 on."""
        constant = self.constant(index)
        key = ("positive", index, size)
        if constant is not None:
            if bool((constant >= 0).all()):
                return self.define_tensor(index, mps_graph)
            return self.define_constant(torch.where(constant < 0, constant + size, constant), mps_graph, key)
        if key not in self.tensor_to_id:
            dtype, shape = dtype_of(index), shape_of(index)
            value = self.define_tensor(index, mps_graph)
            negative = self.define_value(torch.bool, shape, mps_graph)
            self.add(MPSLt(value, self.define_scalar(0, dtype, mps_graph), negative), mps_graph)
            moved = self.define_value(dtype, shape, mps_graph)
            self.add(MPSAdd(value, self.define_scalar(size, dtype, mps_graph), moved), mps_graph)
            self.tensor_to_id[key] = self.define_value(dtype, shape, mps_graph)
            self.add(MPSWhere(negative, moved, value, self.tensor_to_id[key]), mps_graph)
        found: int = self.tensor_to_id[key]
        return found


@register_node_visitor
class IndexTensorVisitor(_Advanced):
    """index with one tensor of indices."""

    target = "aten.index.Tensor"

    def define_node(self, node: Node, mps_graph: MPSGraph) -> None:
        value = self.define_tensor(arguments(node)["self"], mps_graph)
        indices = self._ids(node, mps_graph)
        self.add(MPSIndexTensor(value, self.define_tensor(node, mps_graph), indices), mps_graph)


@register_node_visitor
class IndexPutVisitor(_Advanced):
    """index_put with one list of indices."""

    target = "aten.index_put.default"

    def refusal(self, node: Node) -> str | None:
        given = arguments(node)
        reason = super().refusal(node)
        if reason is not None:
            return reason
        if given["accumulate"]:
            return "MPS replaces elements and does not add to them"
        index = next(index for index in given["indices"] if index is not None)
        return None if len(shape_of(index)) == 1 else "MPS writes at lists of indices"

    def define_node(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments(node)
        value = self.define_tensor(given["self"], mps_graph)
        indices = self._ids(node, mps_graph)
        dim, index = next((d, i) for d, i in enumerate(given["indices"]) if i is not None)
        shape = shape_of(given["self"])
        shape[dim] = shape_of(index)[0]
        dtype = dtype_of(node)
        values = self.operand(given["values"], self.stored(dtype), mps_graph)
        values = self.broadcast(values, shape_of(given["values"]), dtype, shape, mps_graph)
        self.add(MPSIndexPut(value, self.define_tensor(node, mps_graph), indices, [], values), mps_graph)


@register_node_visitor
class SliceScatterVisitor(NodeVisitor):
    """slice_scatter: the positions of the slice are constants."""

    target = "aten.slice_scatter.default"

    def define_node(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments(node)
        shape, source = shape_of(node), shape_of(given["src"])
        dim = wrapped(given["dim"], len(shape))
        positions = torch.arange(shape[dim], dtype=torch.int32)[given["start"] : given["end"] : given["step"]]
        value = self.define_tensor(given["self"], mps_graph)
        written = self.operand(given["src"], self.stored(dtype_of(node)), mps_graph)
        index = self._index(positions, source, dim, mps_graph)
        self.add(MPSScatter(value, self.define_tensor(node, mps_graph), dim, index, written), mps_graph)

    def _index(self, positions: torch.Tensor, shape: list[int], dim: int, mps_graph: MPSGraph) -> int:
        """The id of the positions, repeated along the other dimensions when the program runs."""
        own = [1] * len(shape)
        own[dim] = len(positions)
        key: Any = ("positions", tuple(positions.tolist()), len(shape), dim)
        constant = self.define_constant(positions.reshape(own), mps_graph, key)
        return self.broadcast(constant, own, positions.dtype, shape, mps_graph)
