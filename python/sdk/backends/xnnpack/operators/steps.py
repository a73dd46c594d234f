# SPDX-License-Identifier: BSD-3-Clause
"""Operators for which XNNPACK has no node. They become steps, nodes that this backend's runtime computes."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import argument, name_of
from sdk.backends.graph.sums import shift_of
from sdk.backends.transforms.constants import get_constant, is_constant
from sdk.backends.xnnpack.operators.elementwise import wants_nhwc
from sdk.backends.xnnpack.operators.image import reads_more_than_first
from sdk.backends.xnnpack.operators.operator import XNNPartitionerConfig, is_static, rank_of
from sdk.backends.xnnpack.operators.pools import MeanConfig
from sdk.backends.xnnpack.operators.shape import write_expanded, write_slice
from sdk.backends.xnnpack.quantization import Scale
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import NODES, StepKind
from sdk.backends.xnnpack.subgraph_writer import FLOAT_TO_TRUTH, INT64_TO_FLOAT, INT64_TO_TRUTH, SubgraphWriter
from sdk.exir.sym_util import are_same_sizes

# Flags of norms.
HAS_WEIGHT, HAS_BIAS = 1, 2
# A flag of embeddings.
WRAPS = 1


class NormConfig(XNNPartitionerConfig):
    """Layer norm and rms norm."""

    target_names = ("aten.native_layer_norm.default", "aten.rms_norm.default")

    def needs_step(self, node: Node) -> bool:
        return True

    def is_in_floats(self, node: Node) -> bool:
        return True

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        sizes = argument(node, 1)
        if not is_static(sizes) or not sizes:
            return f"normalized_shape is {sizes}, and its sizes have to be known"
        return "its second or third result is used" if reads_more_than_first(node) and _is_layer_norm(node) else None

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        if _is_layer_norm(node):
            source, sizes, weight, bias, eps = (argument(node, i) for i in range(5))
            write_norm(writer, node, StepKind.LAYER_NORM, source, len(sizes), eps, weight, bias)
        else:
            source, sizes, weight, eps = (argument(node, i) for i in range(4))
            eps = torch.finfo(node.meta["val"].dtype).eps if eps is None else eps
            write_norm(writer, node, StepKind.RMS_NORM, source, len(sizes), eps, weight, None)


def write_norm(
    writer: SubgraphWriter, node: Node, kind: StepKind, source: Node, dims: int, eps: float, weight: Any, bias: Any
) -> None:
    """Normalises the last `dims` dimensions of `source`."""
    factors = [operand for operand in (weight, bias) if operand is not None]
    flags = (HAS_WEIGHT if weight is not None else 0) | (HAS_BIAS if bias is not None else 0)
    inputs = [writer.read(operand) for operand in (source, *factors)]
    writer.add_step(kind, inputs, writer.result(node), [dims], [eps], flags)


class ReduceConfig(MeanConfig):
    """Means and sums over any dimensions."""

    target_names: ClassVar[tuple[str, ...]] = (*MeanConfig.target_names, "aten.sum.dim_IntList")

    def needs_step(self, node: Node) -> bool:
        return MeanConfig.refusal_of_call(self, node, None) is not None or "sum" in node.target.__name__

    def refusal_of_call(self, node: Node, program: ExportedProgram | None) -> str | None:
        if argument(node, 3) not in (None, node.meta["val"].dtype):
            return f"its dtype is {argument(node, 3)}"
        return "its result has no dimensions" if rank_of(node) == 0 else None

    def refusal_in_integers(
        self, node: Node, program: ExportedProgram, operands: list[Scale], result: Scale
    ) -> str | None:
        return "it is not the mean over height and width of an image" if self.needs_step(node) else None

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        if not self.needs_step(node):
            super().lower(node, writer)
            return
        source, rank = node.args[0], rank_of(node.args[0])
        dims = sorted(dim % rank for dim in argument(node, 1) or range(rank))
        is_mean = "mean" in node.target.__name__
        integers = [int(is_mean), int(bool(argument(node, 2))), *dims]
        writer.add_step(StepKind.REDUCE, [writer.read(source)], writer.result(node), integers)


class EmbeddingConfig(XNNPartitionerConfig):
    """Rows of a table: embeddings, and x[indices]."""

    target_names = ("aten.embedding.default", "aten.index.Tensor")
    integers = (1,)
    takes_truth = True
    takes_half = False

    def needs_step(self, node: Node) -> bool:
        return True

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        table, indices = node.args[:2]
        if isinstance(table, Node) and _is_reshape(program, node):
            return None
        if isinstance(indices, (list, tuple)) and (len(indices) != 1 or indices[0] is None):
            return "it has indices for several dimensions, or none for the first one"
        if isinstance(table, Node) and not is_static(table.meta["val"].shape):
            return "its table has sizes that are known only when the model runs"
        numbers = indices[0] if isinstance(indices, (list, tuple)) else indices
        if is_constant(program, numbers) and _only_index(program, numbers) is None:
            return "its indices are constant and differ"
        return None

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        table, indices = node.args[:2]
        if _is_reshape(writer.program, node):
            shape = list(node.meta["val"].shape)
            writer.add(NODES["StaticReshape"](len(shape), shape, writer.read(table), writer.result(node)))
            return
        is_index = isinstance(indices, (list, tuple))
        numbers = indices[0] if is_index else indices
        row = _only_index(writer.program, numbers)
        if row is not None:
            write_repeated_row(writer, node, table, row)
            return
        source = writer.read_integers(numbers)
        shape = [int(size) for size in writer.values[source].dims] + writer.values[writer.read(table)].dims[1:]
        write_reshaped(
            writer,
            node,
            shape,
            lambda result: writer.add_step(
                StepKind.EMBEDDING, [writer.read(table), source], result, flags=WRAPS if is_index else 0
            ),
        )


def _only_index(program: ExportedProgram, numbers: Any) -> int | None:
    """The value that all constant indices have, such as the token types of a sentence; None if they differ or are not
    constant."""
    if not is_constant(program, numbers):
        return None
    known = get_constant(program, numbers)
    assert known is not None
    return int(known.flatten()[0]) if known.numel() and bool((known == known.flatten()[0]).all()) else None


def write_repeated_row(writer: SubgraphWriter, node: Node, table: Node, row: int) -> None:
    """Writes one row of a table to all positions of the result, whose last dimensions have the shape of a row."""
    shape = writer.values[writer.read(table)].dims
    chosen, flat = (
        writer.temporary([1, *shape[1:]]),
        writer.temporary([1] * (rank_of(node) - len(shape) + 1) + shape[1:]),
    )
    write_slice(writer, table, 0, row % shape[0], [1, *shape[1:]], chosen)
    writer.add(NODES["StaticReshape"](rank_of(node), writer.values[flat].dims, chosen, flat))
    write_expanded(writer, node, flat)


def _is_reshape(program: ExportedProgram, node: Node) -> bool:
    """Whether constant indices select all elements in order, such as a mask that is indexed with all positions."""
    table, indices = node.args[:2]
    if not isinstance(indices, (list, tuple)) or not isinstance(table, Node) or is_constant(program, table):
        return False
    shape = table.meta["val"].shape
    if not is_static([*shape, *node.meta["val"].shape]) or shape.numel() != node.meta["val"].numel():
        return False
    if not all(index is None or is_constant(program, index) for index in indices):
        return False
    places = [slice(None) if index is None else get_constant(program, index) for index in indices]
    count = torch.arange(shape.numel())
    return torch.equal(count.reshape(shape)[tuple(places)].flatten(), count)


def write_reshaped(writer: SubgraphWriter, node: Node, shape: list[int], add: Any) -> None:
    """Calls `add` to write a result of `shape`, and reshapes it if the node's shape has another rank."""
    wanted = [size if isinstance(size, int) else 0 for size in node.meta["val"].shape]
    if len(shape) == len(wanted):
        add(writer.result(node))
        return
    flat = writer.temporary(shape)
    add(flat)
    writer.add(NODES["StaticReshape"](len(wanted), wanted, flat, writer.result(node)))


class IndexPutConfig(XNNPartitionerConfig):
    """Writes slices at some indices of one dimension, as a key-value cache does."""

    target_names = ("aten.index_put.default",)
    integers = (1,)
    takes_half = False

    def needs_step(self, node: Node) -> bool:
        return True

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        target, indices, values = node.args[:3]
        assert isinstance(target, Node) and isinstance(values, Node) and isinstance(indices, (list, tuple))
        given = [i for i, index in enumerate(indices) if index is not None]
        if len(given) != 1 or rank_of(indices[given[0]]) != 1:
            return "it has indices for several dimensions, or an index of several dimensions"
        if argument(node, 3):
            return "accumulate is on"
        dim = given[0]
        if is_constant(program, indices[dim]):
            return "its indices are constant"
        slices = list(target.meta["val"].shape)
        slices[dim] = indices[dim].meta["val"].shape[0]
        written = list(values.meta["val"].shape)
        ones = [1] * (len(slices) - len(written))
        return None if ones + written == slices else f"its values have the shape {tuple(written)}, not {tuple(slices)}"

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        target, indices, values = node.args[:3]
        dim = next(i for i, index in enumerate(indices) if index is not None)
        inputs = [writer.read(target), writer.read_integers(indices[dim]), writer.read(values)]
        writer.add_step(StepKind.INDEX_PUT, inputs, writer.result(node), [dim])


class WhereConfig(XNNPartitionerConfig):
    target_names = ("aten.where.self",)
    takes_truth = True

    def needs_step(self, node: Node) -> bool:
        return True

    def is_in_floats(self, node: Node) -> bool:
        return True

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        writer.add_step(StepKind.WHERE, [writer.read(operand) for operand in node.args[:3]], writer.result(node))


class ConvertConfig(XNNPartitionerConfig):
    """Conversions to float32, float16 and bool."""

    target_names = ("dim_order_ops._to_dim_order_copy.default", "aten._to_copy.default")
    takes_truth = True
    takes_integers = True
    converts = True

    def is_in_floats(self, node: Node) -> bool:
        return any(source.meta["val"].dtype == torch.int64 for source in node.all_input_nodes)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        return "its result has an integer dtype" if node.meta["val"].dtype == torch.int64 else None

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        source = node.args[0]
        assert isinstance(source, Node)
        before, after = source.meta["val"].dtype, node.meta["val"].dtype
        if before == torch.int64:
            integers = writer.read_integers(source)
            kind = INT64_TO_TRUTH if after == torch.bool else INT64_TO_FLOAT
            shape = list(writer.values[integers].dims)
            write_reshaped(
                writer, node, shape, lambda result: writer.add_step(StepKind.CONVERT, [integers], result, [kind])
            )
        elif before != torch.bool and after == torch.bool:
            floats = writer.read(source)
            if before == torch.float16:
                half, floats = floats, writer.temporary(list(writer.values[floats].dims))
                writer.add(NODES["Convert"](half, floats))
            writer.add_step(StepKind.CONVERT, [floats], writer.result(node), [FLOAT_TO_TRUTH])
        elif torch.float16 in (before, after) and before != after:
            nhwc = wants_nhwc(writer, [source])
            writer.add(NODES["Convert"](writer.read(source, nhwc), writer.result(node, nhwc)))
        else:
            writer.alias(node, source)


class TruthConfig(XNNPartitionerConfig):
    """Logical and, or, not."""

    target_names = (
        "aten.logical_and.default",
        "aten.bitwise_and.Tensor",
        "aten.logical_or.default",
        "aten.bitwise_or.Tensor",
        "aten.logical_not.default",
        "aten.bitwise_not.default",
    )
    takes_truth = True
    KINDS: ClassVar[dict[str, str]] = {"and": "Multiply", "or": "Maximum", "not": "Subtract"}

    def needs_step(self, node: Node) -> bool:
        return True

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        others = [n for n in (node, *node.all_input_nodes) if n.meta["val"].dtype != torch.bool]
        return f"{others[0]} does not hold truth values" if others else None

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        kind = node.target.__name__.split(".")[1].split("_")[1]
        operands: list[Any] = [1.0, node.args[0]] if kind == "not" else list(node.args[:2])
        first, second = (writer.read(operand, rank=rank_of(node)) for operand in operands)
        writer.add(NODES[self.KINDS[kind]](first, second, writer.result(node)))


def fused_rms_norm(program: ExportedProgram, node: Node) -> tuple[Node, float, Node] | None:
    """(x, eps, weight) if a product is x * rsqrt(mean(x * x) + eps) * weight over the last dimension; else None."""
    for normal, weight in (node.args[:2], node.args[1::-1]):
        if name_of(normal) != "aten.mul.Tensor" or not isinstance(weight, Node) or rank_of(weight) != 1:
            continue
        for x, rsqrt in (normal.args[:2], normal.args[1::-1]):
            found = _rms_of(program, x, rsqrt)
            if found is not None and are_same_sizes(weight.meta["val"].shape, x.meta["val"].shape[-1:]):
                return x, found, weight
    return None


def _rms_of(program: ExportedProgram, x: Any, rsqrt: Any) -> float | None:
    if not isinstance(x, Node) or name_of(rsqrt) not in ("aten.rsqrt.default", "aten.pow.Tensor_Scalar"):
        return None
    if name_of(rsqrt) == "aten.pow.Tensor_Scalar" and rsqrt.args[1] != -0.5:
        return None
    shifted = shift_of(rsqrt.args[0], program)
    if shifted is None:
        return None
    mean, eps = shifted
    if name_of(mean) != "aten.mean.dim" or not argument(mean, 2):
        return None
    if [dim % rank_of(x) for dim in argument(mean, 1) or ()] != [rank_of(x) - 1]:
        return None
    square = mean.args[0]
    is_square = name_of(square) == "aten.pow.Tensor_Scalar" and square.args[1] == 2 and square.args[0] is x
    is_product = name_of(square) == "aten.mul.Tensor" and square.args[0] is x and square.args[1] is x
    return eps if is_square or is_product else None


def _is_layer_norm(node: Node) -> bool:
    return "layer_norm" in name_of(node)
