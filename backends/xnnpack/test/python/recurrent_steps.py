# SPDX-License-Identifier: BSD-3-Clause
"""Lowers recurrent layers to XNNPACK, and reads the nodes of their payloads. Steps are nodes of operators that only
this SDK has, such as the cell of an LSTM."""

from __future__ import annotations

import torch
from torch import nn
from torch.export import export
from torch.fx import GraphModule

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import GRAPH, StepKind, XNNGraph, XNNStep
from sdk.backends.xnnpack.serialization.xnnpack_graph_serialize import IDENTIFIER_WITH_STEPS, XNNHeader
from sdk.exir import EdgeProgramManager, to_edge_transform_and_lower
from sdk.exir._serialize._flatbuffer import read_root
from sdk.exir.backend.utils import get_delegated_payload, get_non_lowered_nodes
from sdk.runtime import Runtime

Inputs = tuple[torch.Tensor, ...]


def lower(model: nn.Module, inputs: Inputs, compat: str | None = None) -> EdgeProgramManager:
    program = export(model if isinstance(model, GraphModule) else model.eval(), inputs)
    return to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner(compat=compat)])


def graphs_of(lowered: EdgeProgramManager, identifier: bytes | None = None) -> list[XNNGraph]:
    found = []
    for _, _, payload in get_delegated_payload(lowered.exported_program().graph_module).values():
        header = XNNHeader.from_bytes(payload)
        graph = payload[header.flatbuffer_offset :][: header.flatbuffer_size]
        found.append(read_root(GRAPH, graph, identifier or graph[4:8]))
    return found


def graph_of(lowered: EdgeProgramManager, identifier: bytes = IDENTIFIER_WITH_STEPS) -> XNNGraph:
    """The graph of the only delegate, which must take the whole model."""
    assert get_non_lowered_nodes(lowered.exported_program().graph_module.graph) == []
    (graph,) = graphs_of(lowered, identifier)
    return graph


def cells(graph: XNNGraph, kind: StepKind = StepKind.LSTM_CELL) -> list[XNNStep]:
    steps = [node.xnode_union for node in graph.xnodes if isinstance(node.xnode_union, XNNStep)]
    return [step for step in steps if step.kind == kind]


def others(graph: XNNGraph) -> set[str]:
    """Returns the kinds of elementwise and slice nodes in the graph, except the steps."""
    kinds = {type(node.xnode_union).__name__.removeprefix("XNN") for node in graph.xnodes}
    return kinds & {"Add", "Subtract", "Multiply", "Sigmoid", "Tanh", "StaticSlice"}


def check(model: nn.Module, inputs: Inputs, lowered: EdgeProgramManager) -> None:
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    expected = torch.utils._pytree.tree_leaves(model(*inputs))
    for _ in range(2):
        for found, wanted in zip(method.execute(inputs), expected, strict=True):
            torch.testing.assert_close(torch.as_tensor(found), wanted, rtol=1e-5, atol=1e-5)
