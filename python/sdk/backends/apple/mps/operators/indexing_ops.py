# SPDX-License-Identifier: BSD-3-Clause
"""Reading and writing at indices. MPSGraph gathers and scatters along one dimension."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.fx import Node

from sdk.backends.apple.mps.operators.node_visitor import NodeVisitor, register_node_visitor, shape_of, wrapped
from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.apple.mps.serialization.nodes import ABSENT, MPSAdd, MPSLt, MPSMul
from sdk.backends.apple.mps.serialization.shape_nodes import (
    MPSEmbedding,
    MPSIndexPut,
    MPSIndexSelect,
    MPSIndexTensor,
    MPSScatter,
    MPSView,
    MPSWhere,
)
from sdk.backends.graph.names import arguments_of
from sdk.backends.graph.shapes import dtype_of

_INTEGERS = (torch.int32, torch.int64)


def _indexed(indices: list[Node | None]) -> list[int]:
    """The dimensions that have indices."""
    return [dim for dim, index in enumerate(indices) if index is not None]


def _merged(sizes: list[int], dims: list[int]) -> list[int]:
    """The sizes after the consecutive dimensions `dims` are joined to one."""
    return [*sizes[: dims[0]], math.prod(sizes[dim] for dim in dims), *sizes[dims[-1] + 1 :]]


@register_node_visitor
class IndexSelectVisitor(NodeVisitor):
    """index_select."""

    target = "aten.index_select.default"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
        value = self.define_tensor(given["self"], mps_graph)
        index = self.define_tensor(given["index"], mps_graph)
        dim = wrapped(given["dim"], len(shape_of(given["self"])))
        self.add(MPSIndexSelect(value, self.define_tensor(node, mps_graph), dim, index), mps_graph)


@register_node_visitor
class EmbeddingVisitor(NodeVisitor):
    """embedding. The row of `padding_idx` is read like the others, as in PyTorch, so the payload does not have this
    field."""

    target = "aten.embedding.default"

    def refusal(self, node: Node) -> str | None:
        return None if shape_of(arguments_of(node)["indices"]) else "MPS has indices of rank 1 at least"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
        weight, indices = (self.define_tensor(given[name], mps_graph) for name in ("weight", "indices"))
        self.add(MPSEmbedding(weight, indices, self.define_tensor(node, mps_graph), -1), mps_graph)


class _Advanced(NodeVisitor):
    """index and index_put, whose indices may be negative. MPSGraph indexes one dimension: the indices of several
    dimensions become positions in the joined dimension."""

    def refusal(self, node: Node) -> str | None:
        given = arguments_of(node)
        dims = _indexed(given["indices"])
        indices = [given["indices"][dim] for dim in dims]
        if not dims or dims[-1] - dims[0] != len(dims) - 1:
            return f"MPS indexes consecutive dimensions only, not {dims}"
        if any(dtype_of(index) not in _INTEGERS for index in indices):
            return "MPS has indices of int32 and int64"
        size = _merged(shape_of(given["self"]), dims)[dims[0]]
        if len(dims) > 1 and size > torch.iinfo(torch.int32).max:
            return f"MPS has positions of int32; the dimensions {dims} have {size} elements"
        return None if any(shape_of(index) for index in indices) else "MPS has indices of rank 1 at least"

    def _operand(self, node: Node, mps_graph: MPSGraph) -> tuple[int, list[int]]:
        """The id of the indexed tensor, whose indexed dimensions are joined to one, and the ids of the indices by
        dimension."""
        given = arguments_of(node)
        dims, sizes = _indexed(given["indices"]), shape_of(given["self"])
        value = self.define_tensor(given["self"], mps_graph)
        if len(dims) > 1:
            value = self._view(value, dtype_of(given["self"]), _merged(sizes, dims), mps_graph)
        index = self._positions(given["indices"], sizes, mps_graph)
        return value, [index if dim == dims[0] else ABSENT for dim in range(len(given["indices"]) - len(dims) + 1)]

    def _positions(self, indices: list[Node | None], sizes: list[int], mps_graph: MPSGraph) -> int:
        """The id of the positions in the joined dimension."""
        found: int = ABSENT
        shape: list[int] = []
        own = [(index, size) for index, size in zip(indices, sizes, strict=False) if index is not None]
        dtype = torch.int64 if any(dtype_of(index) == torch.int64 for index, _ in own) else torch.int32
        for index, size in own:
            position = self._positive(index, size, mps_graph)
            if dtype_of(index) != dtype:
                position = self.cast(position, dtype, shape_of(index), mps_graph)
            if found == ABSENT:
                found, shape = position, shape_of(index)
                continue
            rows = self.define_value(dtype, shape, mps_graph)
            self.add(MPSMul(found, self.define_scalar(size, dtype, mps_graph), rows), mps_graph)
            shape = list(torch.broadcast_shapes(shape, shape_of(index)))
            found = self.define_value(dtype, shape, mps_graph)
            self.add(MPSAdd(rows, position, found), mps_graph)
        return found

    def _view(self, value: int, dtype: torch.dtype, shape: list[int], mps_graph: MPSGraph) -> int:
        made = self.define_value(dtype, shape, mps_graph)
        self.add(MPSView(value, made, len(shape), shape), mps_graph)
        return made

    def _positive(self, index: Node, size: int, mps_graph: MPSGraph) -> int:
        """The id of the indices, with negative ones converted to positions from the start."""
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
    """index with tensors of indices for consecutive dimensions."""

    target = "aten.index.Tensor"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        value, indices = self._operand(node, mps_graph)
        self.add(MPSIndexTensor(value, self.define_tensor(node, mps_graph), indices), mps_graph)


@register_node_visitor
class IndexPutVisitor(_Advanced):
    """index_put with lists of indices for consecutive dimensions."""

    target = "aten.index_put.default"

    def refusal(self, node: Node) -> str | None:
        given = arguments_of(node)
        reason = super().refusal(node)
        if reason is not None:
            return reason
        if given["accumulate"]:
            return "MPS replaces elements and does not add to them"
        ranks = [len(shape_of(index)) for index in given["indices"] if index is not None]
        return None if max(ranks) == 1 else "MPS writes at lists of indices"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
        dims, sizes, dtype = _indexed(given["indices"]), shape_of(node), dtype_of(node)
        value, indices = self._operand(node, mps_graph)
        merged = _merged(sizes, dims)
        written = list(merged)
        (written[dims[0]],) = torch.broadcast_shapes(*(shape_of(given["indices"][dim]) for dim in dims))
        values = self.operand(given["values"], self.stored(dtype), mps_graph)
        values = self.broadcast(values, shape_of(given["values"]), dtype, written, mps_graph)
        result = self.define_tensor(node, mps_graph)
        changed = result if len(dims) == 1 else self.define_value(dtype, merged, mps_graph)
        self.add(MPSIndexPut(value, changed, indices, [], values), mps_graph)
        if len(dims) > 1:
            self.add(MPSView(changed, result, len(sizes), sizes), mps_graph)


@register_node_visitor
class SliceScatterVisitor(NodeVisitor):
    """slice_scatter: the positions of the slice are constants."""

    target = "aten.slice_scatter.default"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
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
