# SPDX-License-Identifier: BSD-3-Clause
"""The graphs of an ETRecord as plain objects."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.export import export

from declared import default
from sdk.devtools.debug_format.base_schema import OperatorGraph, OperatorNode, ValueNode
from sdk.devtools.debug_format.et_schema import FXOperatorGraph
from sdk.devtools.etrecord import ETRecord
from sdk.devtools.inspector._inspector_utils import (
    EDGE_DIALECT_GRAPH_KEY,
    create_debug_handle_to_op_node_mapping,
    gen_graphs_from_etrecord,
)
from sdk.exir import to_edge, to_edge_transform_and_lower


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x).relu()


class Net(nn.Module):
    """A module in a module, an operator with two results, and one with a list of tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.block = Block()
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values, _ = torch.topk(self.block(x).mean((2, 3)), 2)
        return values * self.scale + y, torch.cat([values, values])


PROGRAM = export(Net().eval(), (torch.rand(1, 3, 8, 8), torch.rand(2)))


def record() -> ETRecord:
    found = to_edge(PROGRAM, generate_etrecord=True).to_executorch().get_etrecord()
    assert isinstance(found, ETRecord)
    return found


def names(nodes: Any) -> list[str]:
    return [node.name for node in nodes or []]


def test_the_graph_of_a_program() -> None:
    """Names, shapes and arguments are those of the model."""
    graph = gen_graphs_from_etrecord(record())[EDGE_DIALECT_GRAPH_KEY]
    assert isinstance(graph, FXOperatorGraph)
    inputs, forward, outputs = graph.elements
    assert isinstance(inputs, OperatorGraph) and isinstance(forward, OperatorGraph)
    assert isinstance(outputs, OperatorGraph)
    assert [g.graph_name for g in (graph, inputs, forward, outputs)] == ["base", "inputs", "forward", "outputs"]
    assert [(n.name, n.output_shapes, n.dtype) for n in inputs.elements if isinstance(n, ValueNode)] == [
        ("p_block_conv_weight_", [[4, 3, 3, 3]], "[torch.float32]"),
        ("p_block_conv_bias_", [[4]], "[torch.float32]"),
        ("b_scale_", [[1]], "[torch.float32]"),
        ("x_", [[1, 3, 8, 8]], "[torch.float32]"),
        ("y_", [[2]], "[torch.float32]"),
    ]
    operators = {node.name: node for node in graph.operators()}
    assert [node.op for node in operators.values()] == [
        "aten.convolution.default",
        "aten.relu.default",
        "aten.mean.dim",
        "aten.topk.default",
        "aten.mul.Tensor",
        "aten.add.Tensor",
        "aten.cat.default",
    ]
    conv = operators["aten_convolution_default_"]
    assert conv.named_args is not None and conv.named_args[:4] == ["input", "weight", "bias", "stride"]
    assert names(conv.inputs)[:3] == ["x_", "p_block_conv_weight_", "p_block_conv_bias_"]
    stride, *_ = [node for node in conv.inputs or [] if node.name.startswith("stride")]
    assert isinstance(stride, ValueNode) and stride.val == [1, 1]
    transposed, *_ = [node for node in conv.inputs or [] if node.name.startswith("transposed")]
    assert isinstance(transposed, ValueNode) and transposed.val == "False"
    # The getitem nodes of the two results are left out.
    assert operators["aten_topk_default_"].output_shapes == [[1, 2], [1, 2]]
    assert names(operators["aten_mul_tensor_"].inputs) == ["aten_topk_default_", "b_scale_"]
    assert names(operators["aten_cat_default_"].inputs) == ["aten_topk_default_", "aten_topk_default_"]
    (output,) = outputs.elements
    assert isinstance(output, ValueNode) and output.output_shapes == [[1, 2], [2, 2]]
    assert names(output.inputs) == ["aten_add_tensor_", "aten_cat_default_"]
    assert conv.metadata is not None and "self.conv(x)" in conv.metadata["stack_trace"]
    bare = FXOperatorGraph.gen_operator_graph(PROGRAM.graph_module, skip_stack_trace=True)
    assert all("stack_trace" not in (node.metadata or {}) for node in bare.operators())


def test_the_hierarchy_of_modules() -> None:
    graph = gen_graphs_from_etrecord(record(), enable_module_hierarchy=True)[EDGE_DIALECT_GRAPH_KEY]
    forward = graph.elements[1]
    assert isinstance(forward, OperatorGraph)
    block = forward.elements[0]
    assert isinstance(block, OperatorGraph) and block.graph_name == "block"
    assert block.metadata is not None and block.metadata["module_type"].endswith("Block")
    conv = block.elements[0]
    assert isinstance(conv, OperatorGraph) and conv.graph_name == "block.conv"
    assert [node.op for node in conv.operators()] == ["aten.convolution.default"]
    assert [node.op for node in block.operators()] == ["aten.convolution.default", "aten.relu.default"]
    assert next(node.op for node in forward.elements if isinstance(node, OperatorNode)) == "aten.mean.dim"
    # This graph arranges the same operators differently.
    flat = gen_graphs_from_etrecord(record())[EDGE_DIALECT_GRAPH_KEY]
    assert names(flat.operators()) == names(graph.operators())


@pytest.mark.parametrize("delegated", [False, True], ids=["kernels", "default backend"])
def test_operators_by_debug_handle(delegated: bool) -> None:
    """Each operator of the model is found by its handle, also inside of a delegate."""
    partitioner = [default().make("partitioner")] if delegated else []
    lowered = to_edge_transform_and_lower(PROGRAM, partitioner=partitioner)
    graph = FXOperatorGraph.gen_operator_graph(lowered.exported_program().graph_module)
    mapping = create_debug_handle_to_op_node_mapping(graph)
    assert {"aten.convolution.default", "aten.topk.default", "aten.cat.default"} <= {
        node.op for nodes in mapping.values() for node in nodes
    }
    handles = [node.metadata["debug_handle"] for node in graph.operators() if "debug_handle" in (node.metadata or {})]
    assert list(mapping) == list(dict.fromkeys(handles))
    calls = [node for node in graph.operators() if "backend_id" in (node.metadata or {})]
    assert bool(calls) == delegated
    assert {(node.metadata or {})["backend_id"] for node in calls} <= {default().id}


def test_graphs_of_an_etrecord() -> None:
    """Graphs of an added program, and of methods other than forward, have distinct names."""
    methods = {"forward": PROGRAM, "again": PROGRAM}
    found = to_edge(methods, generate_etrecord=True).to_executorch().get_etrecord()
    assert isinstance(found, ETRecord)
    found.graph_map = {"extra/forward": PROGRAM}
    graphs = gen_graphs_from_etrecord(found)
    assert set(graphs) == {"extra/forward", EDGE_DIALECT_GRAPH_KEY, f"{EDGE_DIALECT_GRAPH_KEY}/again"}
    assert len(list(graphs["extra/forward"].operators())) == 7
