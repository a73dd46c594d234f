# SPDX-License-Identifier: BSD-3-Clause
"""Operations that move elements. Dimensions and sizes are written as non-negative numbers."""

from __future__ import annotations

from torch.fx import Node

from sdk.backends.apple.mps.operators.node_visitor import NodeVisitor, register_node_visitor, shape_of, wrapped
from sdk.backends.apple.mps.serialization import shape_nodes as s
from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.graph.names import arguments_of
from sdk.backends.graph.shapes import dtype_of


@register_node_visitor
class PermuteVisitor(NodeVisitor):
    """permute."""

    target = "aten.permute_copy.default"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
        rank = len(shape_of(node))
        order = [wrapped(dim, rank) for dim in given["dims"]]
        value = self.define_tensor(given["self"], mps_graph)
        self.add(s.MPSPermute(value, self.define_tensor(node, mps_graph), rank, order), mps_graph)


class _Reshaping(NodeVisitor):
    def reshape(self, node: Node, mps_graph: MPSGraph) -> None:
        """Appends a view of the first operand in the shape of the node."""
        value = self.define_tensor(node.args[0], mps_graph)
        shape = shape_of(node)
        self.add(s.MPSView(value, self.define_tensor(node, mps_graph), len(shape), shape), mps_graph)


@register_node_visitor
class ViewVisitor(_Reshaping):
    """view."""

    target = "aten.view_copy.default"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        self.reshape(node, mps_graph)


@register_node_visitor
class ExpandVisitor(NodeVisitor):
    """expand, which may add dimensions."""

    target = "aten.expand_copy.default"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        operand, shape = arguments_of(node)["self"], shape_of(node)
        value = self.define_tensor(operand, mps_graph)
        own = [1] * (len(shape) - len(shape_of(operand))) + shape_of(operand)
        value = self.broadcast(value, shape_of(operand), dtype_of(node), own, mps_graph)
        self.add(s.MPSExpand(value, self.define_tensor(node, mps_graph), len(shape), shape), mps_graph)


@register_node_visitor
class CatVisitor(NodeVisitor):
    """cat."""

    target = "aten.cat.default"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
        dtype = self.stored(dtype_of(node))
        values = [self.operand(operand, dtype, mps_graph) for operand in given["tensors"]]
        dim = wrapped(given["dim"], len(shape_of(node)))
        self.add(s.MPSCat(values, self.define_tensor(node, mps_graph), dim), mps_graph)


@register_node_visitor
class SqueezeUnsqueezeVisitor(_Reshaping):
    """unsqueeze and squeeze. squeeze removes the given dimensions that have size 1."""

    target = ("aten.unsqueeze_copy.default", "aten.squeeze_copy.dims")

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
        sizes = shape_of(given["self"])
        if not sizes:  # the runtime has a size of 1 for tensors of rank 0
            self.reshape(node, mps_graph)
            return
        value = self.define_tensor(given["self"], mps_graph)
        result = self.define_tensor(node, mps_graph)
        if isinstance(given["dim"], (list, tuple)):
            dims = sorted({wrapped(dim, len(sizes)) for dim in given["dim"]})
            self.add(s.MPSSqueeze(value, result, [dim for dim in dims if sizes[dim] == 1]), mps_graph)
        else:
            self.add(s.MPSUnsqueeze(value, result, wrapped(given["dim"], len(sizes) + 1)), mps_graph)


@register_node_visitor
class SelectVisitor(NodeVisitor):
    """select."""

    target = "aten.select_copy.int"

    def refusal(self, node: Node) -> str | None:
        return "the index is computed when the program runs" if isinstance(node.args[2], Node) else None

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
        sizes = shape_of(given["self"])
        dim = wrapped(given["dim"], len(sizes))
        value = self.define_tensor(given["self"], mps_graph)
        index = wrapped(given["index"], sizes[dim])
        self.add(s.MPSSelect(value, self.define_tensor(node, mps_graph), dim, index), mps_graph)


@register_node_visitor
class SliceVisitor(NodeVisitor):
    """slice."""

    target = "aten.slice_copy.Tensor"

    def refusal(self, node: Node) -> str | None:
        bounds = [arguments_of(node)[name] for name in ("start", "end")]
        return "a bound is computed when the program runs" if any(isinstance(b, Node) for b in bounds) else None

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
        sizes = shape_of(given["self"])
        dim = wrapped(given["dim"], len(sizes))
        start, end, step = slice(given["start"], given["end"], given["step"]).indices(sizes[dim])
        value = self.define_tensor(given["self"], mps_graph)
        self.add(s.MPSSlice(value, self.define_tensor(node, mps_graph), dim, start, end, step), mps_graph)


@register_node_visitor
class PixelShuffleVisitor(NodeVisitor):
    """pixel_shuffle."""

    target = "aten.pixel_shuffle.default"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
        value = self.define_tensor(given["self"], mps_graph)
        factor = int(given["upscale_factor"])
        self.add(s.MPSPixelShuffle(value, self.define_tensor(node, mps_graph), factor), mps_graph)


@register_node_visitor
class SplitWithSizesVisitor(NodeVisitor):
    """split_with_sizes."""

    target = "aten.split_with_sizes_copy.default"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
        value = self.define_tensor(given["self"], mps_graph)
        results = self.define_tensor_list(node, mps_graph)
        sizes = [int(size) for size in given["split_sizes"]]
        dim = wrapped(given["dim"], len(shape_of(given["self"])))
        self.add(s.MPSSplitWithSizes(value, results, sizes, dim), mps_graph)
