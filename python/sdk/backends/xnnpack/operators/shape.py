# SPDX-License-Identifier: BSD-3-Clause
"""Operators that move elements and compute nothing."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import argument, name_of
from sdk.backends.transforms.constants import is_constant
from sdk.backends.xnnpack.layouts import TO_NHWC
from sdk.backends.xnnpack.operators.elementwise import wants_nhwc
from sdk.backends.xnnpack.operators.operator import MAX_RANK, XNNPartitionerConfig, is_static, rank_of
from sdk.backends.xnnpack.operators.views import as_view
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import (
    NODES,
    XNNStaticConstantPad,
    XNNStaticReshape,
    XNNStaticSlice,
    XNNStaticTranspose,
)
from sdk.backends.xnnpack.subgraph_writer import SubgraphWriter
from sdk.exir.sym_util import are_same_sizes
from sdk.exir.tensor import TensorSpec

MOST_CONCATENATED = 5  # the most operands of one node


class ReshapeConfig(XNNPartitionerConfig):
    keeps_scale = True
    takes_truth = True
    takes_integers = True
    target_names = (
        "aten.view_copy.default",
        "aten.unsqueeze_copy.default",
        "aten.squeeze_copy.dims",
        "aten.squeeze_copy.dim",
    )

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        shape = node.meta["val"].shape
        if rank_of(node) == 0:
            return "its result has no dimensions"
        unknown = [size for size in shape if not isinstance(size, int)]
        return (
            None if len(unknown) < 2 else f"{unknown} are known only when the model runs, and XNNPACK takes one of them"
        )

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        assert isinstance(node.args[0], Node)
        if node.args[0] in writer.integers:
            # A node that reads integers takes the shape of its result from its own metadata.
            writer.integers[node] = writer.integers[node.args[0]]
            return
        shape = [size if isinstance(size, int) else 0 for size in node.meta["val"].shape]
        writer.add(XNNStaticReshape(len(shape), shape, writer.read(node.args[0]), writer.result(node)))


class PermuteConfig(XNNPartitionerConfig):
    keeps_scale = True
    takes_truth = True
    target_names = ("aten.permute_copy.default", "aten.transpose_copy.int")

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        order = list(range(rank_of(node)))
        if node.target.__name__ == "aten.transpose_copy.int":
            first, second = argument(node, 1), argument(node, 2)
            order[first], order[second] = order[second], order[first]
        else:
            order = [dim % len(order) for dim in argument(node, 1)]
        shape = node.meta["val"].shape
        moved = [dim for dim, size in zip(order, shape, strict=True) if not are_same_sizes([size], [1])]
        if is_static(shape) and moved == sorted(moved):  # no element moves
            writer.add(XNNStaticReshape(len(shape), list(shape), writer.read(node.args[0]), writer.result(node)))
            return
        writer.add(XNNStaticTranspose(len(order), order, writer.read(node.args[0]), writer.result(node)))


class SliceConfig(XNNPartitionerConfig):
    keeps_scale = True
    takes_truth = True
    target_names = ("aten.slice_copy.Tensor",)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        dim, step = argument(node, 1), argument(node, 4)
        assert isinstance(node.args[0], Node)
        if step != 1 and not is_static(node.args[0].meta["val"].shape):
            return f"step is {step}, and sizes are known only when the model runs"
        if step != 1 and (rank_of(node) == MAX_RANK or node.args[0].meta["val"].shape[dim] % step):
            return f"step is {step}, and XNNPACK takes 1, or a divisor of the size with up to {MAX_RANK - 1} dimensions"
        if not is_static([node.args[0].meta["val"].shape[dim], node.meta["val"].shape[dim]]):
            return "where it starts and ends is known only when the model runs"
        return None

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        assert isinstance(node.args[0], Node)
        if write_joined(writer, node):
            return
        dim, start = argument(node, 1) % rank_of(node), argument(node, 2) or 0
        length = node.args[0].meta["val"].shape[dim]
        start = max(start + length, 0) if start < 0 else start
        if argument(node, 4) != 1:
            write_strided_slice(writer, node, dim, start)
            return
        sizes = [s if isinstance(s, int) else 0 for s in node.meta["val"].shape]
        write_slice(writer, node.args[0], dim, start, sizes, writer.result(node))


def write_slice(writer: SubgraphWriter, source: Node, dim: int, start: int, sizes: list[int], result: int) -> None:
    """Writes a slice of `source` along a dimension. A size of 0 means the whole dimension."""
    offsets = [0] * len(sizes)
    offsets[dim] = start
    writer.add(XNNStaticSlice(len(sizes), offsets, sizes, writer.read(source), result))


def write_strided_slice(writer: SubgraphWriter, node: Node, dim: int, start: int) -> None:
    """Writes every n-th element of a dimension from `start` on. The dimension is split into two, n is the size of the
    second one, and one index of the second one is selected."""
    assert isinstance(node.args[0], Node)
    step, before = argument(node, 4), list(node.args[0].meta["val"].shape)
    after = list(node.meta["val"].shape)
    halves = [*before[:dim], before[dim] // step, step, *before[dim + 1 :]]
    offsets = [0] * len(halves)
    offsets[dim], offsets[dim + 1] = divmod(start, step)
    sizes = [*after[: dim + 1], 1, *after[dim + 1 :]]
    split, chosen = writer.temporary(halves), writer.temporary(sizes)
    writer.add(NODES["StaticReshape"](len(halves), halves, writer.read(node.args[0]), split))
    writer.add(XNNStaticSlice(len(halves), offsets, sizes, split, chosen))
    writer.add(NODES["StaticReshape"](len(after), after, chosen, writer.result(node)))


def write_joined(writer: SubgraphWriter, node: Node) -> bool:
    """Writes `node` as a view of a tensor that was concatenated from it and others, such as the last of a sequence's
    states. Returns False if there is no such tensor."""

    def is_joined(source: Node, _: torch.Tensor) -> bool:
        return source is node or name_of(source) == "aten.cat.default"

    shape = node.meta["val"].shape
    if writer.in_integers or not is_static(shape):
        return False
    cat, view = as_view(node, is_joined)
    if (
        cat is node
        or not view.is_contiguous()
        or any(not are_same_sizes([size], [1]) for size in cat.meta["val"].shape[: argument(cat, 1) % rank_of(cat)])
    ):
        return False
    start = 0
    parts: Any = cat.args[0]
    for part in parts:
        size = part.meta["val"].numel()
        if start == view.storage_offset() and size == view.numel() and writer.has(part, False):
            writer.add(XNNStaticReshape(len(shape), list(shape), writer.read(part), writer.result(node)))
            return True
        start += size
    return False


class SelectConfig(XNNPartitionerConfig):
    """Selects one index of a dimension, and removes the dimension."""

    keeps_scale = True
    target_names = ("aten.select_copy.int",)
    takes_truth = True

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        assert isinstance(node.args[0], Node)
        if rank_of(node) == 0:
            return "its result has no dimensions"
        if not is_static([*node.args[0].meta["val"].shape, node.args[2]]):
            return "its sizes are known only when the model runs"
        return None

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        source, dim, index = node.args[:3]
        assert isinstance(source, Node) and isinstance(dim, int) and isinstance(index, int)
        if write_joined(writer, node):
            return
        sizes = list(source.meta["val"].shape)
        dim %= len(sizes)
        index %= sizes[dim]
        sizes[dim] = 1
        chosen = writer.temporary(sizes)
        write_slice(writer, source, dim, index, sizes, chosen)
        shape = list(node.meta["val"].shape)
        writer.add(XNNStaticReshape(len(shape), shape, chosen, writer.result(node)))


class SplitConfig(XNNPartitionerConfig):
    """Splits of a dimension. Each part becomes a slice when a node reads it."""

    target_names = ("aten.split_with_sizes_copy.default",)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        source = node.args[0]
        assert isinstance(source, Node)
        dim = argument(node, 2)
        return None if is_static([source.meta["val"].shape[dim]]) else "its sizes are known only when the model runs"

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        pass


def write_part(writer: SubgraphWriter, node: Node, split: Node, part: int) -> None:
    """Writes `node`, a part of the tensor that `split` splits."""
    source, lengths = split.args[0], split.args[1]
    assert isinstance(source, Node) and isinstance(lengths, (list, tuple))
    dim = argument(split, 2) % rank_of(source)
    sizes = [size if isinstance(size, int) else 0 for size in node.meta["val"].shape]
    write_slice(writer, source, dim, sum(lengths[:part]), sizes, writer.result(node))


class ExpandConfig(XNNPartitionerConfig):
    """Repeats dimensions of size 1."""

    target_names = ("aten.expand_copy.default",)
    takes_truth = True

    def constants_read(self, node: Node, program: ExportedProgram) -> list[Any]:
        before, after = (tuple(n.meta["val"].shape) for n in (*node.all_input_nodes, node))
        return [*super().constants_read(node, program), *([1] if before != after else [])]

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        assert isinstance(node.args[0], Node)
        before, after = node.args[0].meta["val"].shape, node.meta["val"].shape
        if tuple(before) == tuple(after):
            return None
        return None if is_static([*before, *after]) else "its sizes are known only when the model runs"

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        source = node.args[0]
        assert isinstance(source, Node)
        before, after = tuple(source.meta["val"].shape), tuple(node.meta["val"].shape)
        if before == after:
            writer.alias(node, source)
            return
        write_expanded(writer, node, writer.read(source))


def write_expanded(writer: SubgraphWriter, node: Node, source: int) -> None:
    """Repeats a value to the static shape of `node`, by a multiplication: XNNPACK broadcasts its operands."""
    before, after = writer.values[source].dims, list(node.meta["val"].shape)
    before = [1] * (len(after) - len(before)) + before
    ones = torch.ones([new if new != old else 1 for old, new in zip(before, after, strict=True)])
    writer.add(NODES["Multiply"](source, writer.constant(ones), writer.result(node)), (-math.inf, math.inf))


class CatConfig(XNNPartitionerConfig):
    keeps_scale = True
    target_names = ("aten.cat.default",)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        tensors = node.args[0]
        assert isinstance(tensors, (list, tuple))
        if any(rank_of(tensor) != rank_of(node) for tensor in tensors):
            return "its tensors have different numbers of dimensions"
        return None

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        tensors, dim = list(node.args[0]), argument(node, 1) % rank_of(node)
        nhwc = rank_of(node) == 4 and wants_nhwc(writer, tensors)
        ids = [writer.read(tensor, nhwc) for tensor in tensors]
        if len(ids) == 1:
            writer.add(NODES["Copy"](ids[0], writer.result(node, nhwc)))
            return
        axis = TO_NHWC.index(dim) if nhwc else dim
        while len(ids) > MOST_CONCATENATED:
            groups = [ids[i : i + MOST_CONCATENATED] for i in range(0, len(ids), MOST_CONCATENATED)]
            ids = [_join(writer, group, axis) for group in groups]
        _write_join(writer, ids, axis, writer.result(node, nhwc))


def _join(writer: SubgraphWriter, ids: list[int], axis: int) -> int:
    """Concatenates values along dimension `axis`."""
    if len(ids) == 1:
        return ids[0]
    shapes = [writer.values[index].dims for index in ids]
    joined = list(shapes[0])
    joined[axis] = sum(shape[axis] for shape in shapes)
    result = writer.temporary(joined)
    _write_join(writer, ids, axis, result)
    return result


def _write_join(writer: SubgraphWriter, ids: list[int], axis: int, result: int) -> None:
    a, b, c, d, e = ids + [0] * (MOST_CONCATENATED - len(ids))
    writer.add(NODES[f"Concatenate{len(ids)}"](axis, a, b, c, d, result, 0, e))


class PadConfig(XNNPartitionerConfig):
    keeps_scale = True
    target_names = ("aten.constant_pad_nd.default",)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        pads = argument(node, 1)
        return (
            None
            if all(isinstance(n, int) and n >= 0 for n in pads)
            else f"pad is {pads}, and XNNPACK takes sizes of 0 or more"
        )

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        pads, rank = list(argument(node, 1)), rank_of(node)
        # The flat list begins with the last dimension.
        before, after = [0] * rank, [0] * rank
        for i in range(len(pads) // 2):
            before[rank - 1 - i], after[rank - 1 - i] = pads[2 * i], pads[2 * i + 1]
        nhwc = rank == 4 and wants_nhwc(writer, [node.args[0]])
        if nhwc:
            before, after = ([sizes[dim] for dim in TO_NHWC] for sizes in (before, after))
        source, result = writer.read(node.args[0], nhwc), writer.result(node, nhwc)
        writer.add(XNNStaticConstantPad(before, after, float(argument(node, 2) or 0), source, result))


class CopyConfig(XNNPartitionerConfig):
    """Copies, which change nothing."""

    keeps_scale = True
    target_names = (
        "aten.clone.default",
        "aten.alias_copy.default",
        "dim_order_ops._clone_dim_order.default",
        "aten.detach_copy.default",
    )
    takes_truth = True

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        source = node.args[0]
        assert isinstance(source, Node)
        if is_constant(program, source):
            return "it copies a constant"
        order = [TensorSpec.from_tensor(n.meta["val"]).dim_order for n in (source, node)]
        return None if list(order[0]) == list(order[1]) else "it changes the order of the elements"

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        assert isinstance(node.args[0], Node)
        writer.alias(node, node.args[0])
