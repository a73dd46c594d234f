# SPDX-License-Identifier: BSD-3-Clause
"""Operators that move elements and compute nothing."""

from __future__ import annotations

from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.xnnpack.operators.elementwise import wants_nhwc
from sdk.backends.xnnpack.operators.operator import XNNPartitionerConfig, argument, is_static, rank_of
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import (
    NODES,
    XNNStaticConstantPad,
    XNNStaticReshape,
    XNNStaticSlice,
    XNNStaticTranspose,
)
from sdk.backends.xnnpack.subgraph_writer import TO_NHWC, SubgraphWriter, get_constant

MOST_CONCATENATED = 5  # by one node


class ReshapeConfig(XNNPartitionerConfig):
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

    def write(self, writer: SubgraphWriter, node: Node) -> None:
        shape = [size if isinstance(size, int) else 0 for size in node.meta["val"].shape]
        writer.add(XNNStaticReshape(len(shape), shape, writer.read(node.args[0]), writer.result(node)))


class PermuteConfig(XNNPartitionerConfig):
    target_names = ("aten.permute_copy.default", "aten.transpose_copy.int")

    def write(self, writer: SubgraphWriter, node: Node) -> None:
        order = list(range(rank_of(node)))
        if node.target.__name__ == "aten.transpose_copy.int":
            first, second = argument(node, 1), argument(node, 2)
            order[first], order[second] = order[second], order[first]
        else:
            order = [dim % len(order) for dim in argument(node, 1)]
        writer.add(XNNStaticTranspose(len(order), order, writer.read(node.args[0]), writer.result(node)))


class SliceConfig(XNNPartitionerConfig):
    target_names = ("aten.slice_copy.Tensor",)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        dim, step = argument(node, 1), argument(node, 4)
        assert isinstance(node.args[0], Node)
        if step != 1:
            return f"step is {step}, and XNNPACK takes 1"
        if not is_static([node.args[0].meta["val"].shape[dim], node.meta["val"].shape[dim]]):
            return "where it starts and ends is known only when the model runs"
        return None

    def write(self, writer: SubgraphWriter, node: Node) -> None:
        assert isinstance(node.args[0], Node)
        dim, start = argument(node, 1) % rank_of(node), argument(node, 2) or 0
        length = node.args[0].meta["val"].shape[dim]
        start = max(start + length, 0) if start < 0 else start
        offsets, sizes = [0] * rank_of(node), [s if isinstance(s, int) else 0 for s in node.meta["val"].shape]
        offsets[dim] = start
        writer.add(XNNStaticSlice(len(sizes), offsets, sizes, writer.read(node.args[0]), writer.result(node)))


class CatConfig(XNNPartitionerConfig):
    target_names = ("aten.cat.default",)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        tensors = node.args[0]
        assert isinstance(tensors, (list, tuple))
        if len(tensors) > MOST_CONCATENATED:
            return f"it joins {len(tensors)} tensors, and XNNPACK takes {MOST_CONCATENATED}"
        if any(rank_of(tensor) != rank_of(node) for tensor in tensors):
            return "its tensors have different numbers of dimensions"
        return None

    def write(self, writer: SubgraphWriter, node: Node) -> None:
        tensors, dim = list(node.args[0]), argument(node, 1) % rank_of(node)
        nhwc = rank_of(node) == 4 and wants_nhwc(writer, tensors)
        ids = [writer.read(tensor, nhwc) for tensor in tensors]
        if len(ids) == 1:
            writer.add(NODES["Copy"](ids[0], writer.result(node, nhwc)))
            return
        axis = TO_NHWC.index(dim) if nhwc else dim
        a, b, c, d, e = ids + [0] * (MOST_CONCATENATED - len(ids))
        writer.add(NODES[f"Concatenate{len(ids)}"](axis, a, b, c, d, writer.result(node, nhwc), 0, e))


class PadConfig(XNNPartitionerConfig):
    target_names = ("aten.constant_pad_nd.default",)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        pads = argument(node, 1)
        return (
            None
            if all(isinstance(n, int) and n >= 0 for n in pads)
            else f"pad is {pads}, and XNNPACK takes sizes of 0 or more"
        )

    def write(self, writer: SubgraphWriter, node: Node) -> None:
        pads, rank = list(argument(node, 1)), rank_of(node)
        # The last dimension comes first.
        before, after = [0] * rank, [0] * rank
        for i in range(len(pads) // 2):
            before[rank - 1 - i], after[rank - 1 - i] = pads[2 * i], pads[2 * i + 1]
        nhwc = rank == 4 and wants_nhwc(writer, [node.args[0]])
        if nhwc:
            before, after = ([sizes[dim] for dim in TO_NHWC] for sizes in (before, after))
        source, result = writer.read(node.args[0], nhwc), writer.result(node, nhwc)
        writer.add(XNNStaticConstantPad(before, after, float(argument(node, 2) or 0), source, result))


class CopyConfig(XNNPartitionerConfig):
    """Copies that change nothing."""

    target_names = ("aten.clone.default", "aten.alias_copy.default", "aten.expand_copy.default")

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        assert isinstance(node.args[0], Node)
        if get_constant(program, node.args[0]) is not None:
            return "it copies a constant"
        before, after = node.args[0].meta["val"].shape, node.meta["val"].shape
        return None if tuple(before) == tuple(after) else "it expands a tensor"

    def write(self, writer: SubgraphWriter, node: Node) -> None:
        assert isinstance(node.args[0], Node)
        writer.alias(node, node.args[0])
