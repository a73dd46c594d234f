# SPDX-License-Identifier: BSD-3-Clause
"""Matrix multiplications and linear layers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import argument, name_of
from sdk.backends.graph.quantized import dynamic_source
from sdk.backends.transforms.constants import get_constant, is_constant
from sdk.backends.xnnpack.operators.operator import XNNPartitionerConfig, is_static, rank_of
from sdk.backends.xnnpack.quantization import Scale, scale_of
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import NO_VALUE, NODES, XNNFullyConnected
from sdk.backends.xnnpack.subgraph_writer import SubgraphWriter, shape_of
from sdk.backends.xnnpack.weights import find_weight, is_quantized
from sdk.exir.sym_util import are_same_sizes

TOO_FAR_APART = "its scales are too far apart"


def write_weights(
    writer: SubgraphWriter,
    source: Node,
    weight: Node,
    channels: int,
    permutation: tuple[int, ...],
    bias: torch.Tensor | None,
    part: tuple[slice, ...] = (),
) -> tuple[int, int]:
    """Adds the filter and the bias of a layer; returns their ids.

    Args:
        source: The input of the layer.
        weight: Holds its weights, with the output channels in dimension `channels`.
        permutation: The order of the dimensions in the payload.
        part: The slice of the permuted weights that the payload stores; (): all of them.
    """
    if not writer.in_integers and dynamic_source(source) is None:
        values = get_constant(writer.program, weight)
        assert values is not None  # refusal() has checked it
        # XNNPACK accepts half precision only for the filters of linear layers; it rounds others itself.
        constant = writer.constant if values.dim() == 2 else writer.floats
        filters = constant(values.permute(permutation)[part])
        return filters, NO_VALUE if bias is None else constant(bias)
    quantized = find_weight(writer.program, weight, channels)
    assert not isinstance(quantized, str)
    if not writer.in_integers:
        filters = writer.weight(quantized.permute(*permutation).part(part))
        return filters, NO_VALUE if bias is None else writer.floats(bias)
    filters = writer.weight(replace(quantized, bits=8).permute(*permutation).part(part))
    if bias is None:
        return filters, NO_VALUE
    return filters, writer.integer_bias(bias, quantized.scales * scale_of(source).scale)


def write_linear(
    writer: SubgraphWriter,
    node: Node,
    source: Node,
    weight: Any,
    bias: torch.Tensor | None,
    transposes: bool,
    result: int | None = None,
) -> None:
    """Writes `source` times the transpose of `weight` [outputs, inputs], plus `bias` [outputs]. The node `weight`
    contains this matrix, or its transpose if `transposes`. `result` is the value to write, if it is not that of
    `node`."""
    turn = (1, 0) if transposes else (0, 1)
    writer.add(
        XNNFullyConnected(
            writer.read(source),
            *write_weights(writer, source, weight, 1 if transposes else 0, turn, bias),
            writer.result(node) if result is None else result,
        ),
        writer.take_limits() or (-math.inf, math.inf),
    )


def layer_of(writer: SubgraphWriter, node: Node, source: Node) -> tuple[Node, Node]:
    """Returns the result and the input of the linear layer that a matrix multiplication computes. Exporters flatten an
    input with more dimensions before the multiplication and reshape the result; XNNPACK's layer needs neither."""
    after, view = next(iter(node.users), None), "aten.view_copy.default"
    if after is None or len(node.users) > 1 or name_of(source) != view or name_of(after) != view or writer.in_integers:
        return node, source
    x = source.args[0]
    assert isinstance(x, Node)
    shape = tuple(x.meta["val"].shape)
    wanted = (*shape[:-1], node.meta["val"].shape[-1])
    fits = len(shape) > 1 and are_same_sizes(
        (shape[-1], *after.meta["val"].shape), (source.meta["val"].shape[-1], *wanted)
    )
    return (after, x) if fits and is_static(shape) and dynamic_source(x) is None else (node, source)


class WeightedConfig(XNNPartitionerConfig):
    """Layers whose input is argument `input_at` and whose weight is argument `weight_at`. Dimension `channels_of()` of
    the weight has the output channels."""

    input_at: ClassVar[int] = 0
    weight_at: ClassVar[int] = 1

    def channels_of(self, node: Node) -> int:
        return 0

    def refusal_when_dynamic(self, node: Node, program: ExportedProgram) -> str | None:
        if dynamic_source(node.args[self.input_at]) is None:
            return "another operand than its input is quantised when the model runs"
        weight = find_weight(program, argument(node, self.weight_at), self.channels_of(node))
        return weight if isinstance(weight, str) else None

    def refusal_in_integers(
        self, node: Node, program: ExportedProgram, operands: list[Scale], result: Scale
    ) -> str | None:
        weight = find_weight(program, argument(node, self.weight_at), self.channels_of(node))
        if isinstance(weight, str):
            return weight
        if weight.group is not None:
            return "its weights have scales for groups, and XNNPACK takes one for each channel"
        ratios = weight.scales.double() * operands[0].scale / result.scale
        fits = bool(((ratios >= 2**-32) & (ratios < 2**8)).all())
        return None if fits else TOO_FAR_APART


class LinearConfig(WeightedConfig):
    target_names = ("aten.linear.default",)
    keep_whole = True
    weights = (1, 2)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        return None if rank_of(node.args[1]) == 2 else "its weight does not have two dimensions"

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        source, weight = node.args[:2]
        assert isinstance(source, Node)
        if _is_lent(writer, source, weight):
            bias, limits = argument(node, 2), (-math.inf, math.inf)
            operands = writer.read(source), writer.read(weight), NO_VALUE
            if bias is None:
                writer.add(XNNFullyConnected(*operands, writer.result(node)), limits)
                return
            # XNNPACK adds a bias in the layer only if the bias is a constant.
            product = writer.temporary(shape_of(node))
            writer.add(XNNFullyConnected(*operands, product), limits)
            writer.add(NODES["Add"](product, writer.read(bias), writer.result(node)), limits)
            return
        write_linear(writer, node, source, weight, get_constant(writer.program, argument(node, 2)), False)


class AddmmConfig(WeightedConfig):
    """A linear layer with a bias, or a matrix multiplication followed by an addition."""

    target_names = ("aten.addmm.default",)
    weights = (2,)
    input_at, weight_at = 1, 2

    def channels_of(self, node: Node) -> int:
        return 1

    def packed(self, node: Node, program: ExportedProgram) -> tuple[int, ...]:
        return (0, 2) if _is_bias(program, node.args[0]) else (2,)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        if node.kwargs.get("beta", 1) != 1 or node.kwargs.get("alpha", 1) != 1:
            return "alpha or beta is not 1"
        return None

    def refusal_in_integers(
        self, node: Node, program: ExportedProgram, operands: list[Scale], result: Scale
    ) -> str | None:
        if not _is_bias(program, node.args[0]):
            return "its summand is not a bias"
        return super().refusal_in_integers(node, program, operands, result)

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        added, source, weight = node.args[:3]
        assert isinstance(source, Node) and isinstance(weight, Node)
        if _is_bias(writer.program, added) and not _is_lent(writer, source, weight):
            bias = get_constant(writer.program, added)
            assert bias is not None
            node, source = layer_of(writer, node, source)
            write_linear(writer, node, source, weight, bias.expand(weight.meta["val"].shape[1]), True)
            return
        product = writer.temporary(shape_of(node))
        if _is_lent(writer, source, weight):
            writer.add(NODES["BatchMatrixMultiply"](writer.read(source), writer.read(weight), product))
        else:
            write_linear(writer, node, source, weight, None, True, product)
        writer.add(NODES["Add"](writer.read(added), product, writer.result(node)), (-math.inf, math.inf))


def _is_bias(program: ExportedProgram, node: Any) -> bool:
    return rank_of(node) == 1 and is_constant(program, node)


def _is_lent(writer: SubgraphWriter, source: Node, weight: Any) -> bool:
    """Whether the program passes the weight of a layer to the delegate (`force_non_static_weights_for_f32_linear`)."""
    return not writer.in_integers and dynamic_source(source) is None and not is_constant(writer.program, weight)


class MatmulConfig(WeightedConfig):
    """mm and bmm. mm with a constant is a linear layer."""

    target_names = ("aten.mm.default", "aten.bmm.default")

    def channels_of(self, node: Node) -> int:
        return 1

    def packed(self, node: Node, program: ExportedProgram) -> tuple[int, ...]:
        return (1,) if rank_of(node.args[1]) == 2 else ()

    def refusal_in_integers(
        self, node: Node, program: ExportedProgram, operands: list[Scale], result: Scale
    ) -> str | None:
        if len(operands) != 1 and is_quantized(node.args[1]) and rank_of(node) == 2:
            return super().refusal_in_integers(node, program, operands[:1], result)
        return "it does not multiply by weights"

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        first, second = node.args[:2]
        if rank_of(second) == 2 and is_constant(writer.program, second):
            assert isinstance(first, Node)
            node, first = layer_of(writer, node, first)
            write_linear(writer, node, first, second, None, True)
            return
        a, b = writer.read(first), writer.read(second)
        writer.add(NODES["BatchMatrixMultiply"](a, b, writer.result(node)))


def is_linear_in_floats(node: Node) -> bool:
    """Whether a call is a linear layer or a matrix multiplication, and not quantised."""
    config = _LAYERS.get(name_of(node))
    if config is None:
        return False
    operands = [node.args[config.input_at], node.args[config.weight_at]]
    return not any(is_quantized(operand) or dynamic_source(operand) is not None for operand in operands)


def weights_of_linear(node: Node, program: ExportedProgram) -> list[Node]:
    """The placeholders of the weight and the bias of a layer, even if they are transposed first."""
    config = _LAYERS[name_of(node)]
    pending = [operand for i, operand in enumerate(node.args) if isinstance(operand, Node) and i != config.input_at]
    found = []
    while pending:
        operand = pending.pop()
        if operand.op == "placeholder":
            found.append(operand)
        elif is_constant(program, operand):
            pending += operand.all_input_nodes
    return found


_LAYERS: dict[str, type[WeightedConfig]] = {
    "aten.linear.default": LinearConfig,
    "aten.addmm.default": AddmmConfig,
    "aten.mm.default": MatmulConfig,
}
