# SPDX-License-Identifier: BSD-3-Clause
"""Products of matrices."""

from __future__ import annotations

import math

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.xnnpack.constants import get_constant
from sdk.backends.xnnpack.operators.operator import XNNPartitionerConfig, argument, rank_of
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import NO_VALUE, NODES, XNNFullyConnected
from sdk.backends.xnnpack.subgraph_writer import SubgraphWriter


def write_linear(
    writer: SubgraphWriter, node: Node, source: Node, weight: torch.Tensor, bias: torch.Tensor | None
) -> None:
    """`source` by the transpose of `weight` [outputs, inputs], plus `bias` [outputs]."""
    writer.add(
        XNNFullyConnected(
            writer.read(source),
            writer.constant(weight),
            NO_VALUE if bias is None else writer.constant(bias),
            writer.result(node),
        ),
        (-math.inf, math.inf),
    )


class LinearConfig(XNNPartitionerConfig):
    target_names = ("aten.linear.default",)
    keep_whole = True
    weights = (1, 2)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        return None if rank_of(node.args[1]) == 2 else "its weight is no matrix"

    def write(self, writer: SubgraphWriter, node: Node) -> None:
        weight = get_constant(writer.program, node.args[1])
        assert isinstance(node.args[0], Node) and weight is not None  # refusal() has seen to it
        write_linear(writer, node, node.args[0], weight, get_constant(writer.program, argument(node, 2)))


class AddmmConfig(XNNPartitionerConfig):
    target_names = ("aten.addmm.default",)
    weights = (0, 2)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        if rank_of(node.args[0]) != 1:
            return f"what is added has {rank_of(node.args[0])} dimensions, and XNNPACK takes 1"
        if node.kwargs.get("beta", 1) != 1 or node.kwargs.get("alpha", 1) != 1:
            return "alpha or beta is not 1"
        return None

    def write(self, writer: SubgraphWriter, node: Node) -> None:
        weight = get_constant(writer.program, node.args[2])
        bias = get_constant(writer.program, node.args[0])
        assert isinstance(node.args[1], Node) and weight is not None and bias is not None
        write_linear(writer, node, node.args[1], weight.t(), bias.expand(weight.shape[1]))


class MatmulConfig(XNNPartitionerConfig):
    """mm and bmm. By a constant, mm is a linear layer."""

    target_names = ("aten.mm.default", "aten.bmm.default")

    def write(self, writer: SubgraphWriter, node: Node) -> None:
        first, second = node.args[:2]
        weight = get_constant(writer.program, second)
        if weight is not None and weight.dim() == 2:
            assert isinstance(first, Node)
            write_linear(writer, node, first, weight.t(), None)
            return
        a, b = writer.read(first), writer.read(second)
        writer.add(NODES["BatchMatrixMultiply"](a, b, writer.result(node)))
