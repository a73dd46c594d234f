# SPDX-License-Identifier: BSD-3-Clause
"""Passes of `to_executorch` that are run by themselves, as code written against the original does."""

from __future__ import annotations

import torch
from torch.export import Dim, export

from sdk.exir import memory, to_edge
from sdk.exir.passes import HintBasedSymShapeEvalPass, SpecPropPass, ToOutVarPass
from sdk.exir.tensor import TensorSpec


class Select(torch.nn.Module):
    """Selects rows. Their number depends on data and is at most 7."""

    def forward(self, x, count):
        n = count.item()
        torch._check(n >= 0)
        torch._check(n <= 7)
        return torch.ones(n, x.shape[0]) * 2, x + 1


def test_sizes_that_depend_on_data_are_planned_for_their_bounds() -> None:
    inputs = (torch.ones(3), torch.tensor(2))
    batch = Dim("batch", max=100)
    edge = to_edge(export(Select(), inputs, dynamic_shapes=({0: batch}, None)))
    gm = SpecPropPass()(edge.exported_program().graph_module).graph_module
    gm = HintBasedSymShapeEvalPass()(gm).graph_module
    first, second = (node.meta["spec"] for node in gm.graph.output_node().args[0])
    assert list(first.shape) == [7, 3], "7 is the bound of the data, 3 the example's size"
    assert list(second.shape) == [3]


def test_out_variants_without_specs() -> None:
    def function(x):
        values, places = torch.max(torch.relu(x) + 1, dim=1)
        return values, places, torch.split(x, [1, 2], dim=1)[1] * 2

    class Model(torch.nn.Module):
        forward = staticmethod(function)

    gm = to_edge(export(Model(), (torch.arange(6.0).reshape(2, 3),))).exported_program().graph_module
    assert not any("spec" in node.meta for node in gm.graph.nodes)
    gm = ToOutVarPass()(gm).graph_module
    allocations = gm.graph.find_nodes(op="call_function", target=memory.alloc)
    specs = torch.utils._pytree.tree_leaves([node.meta["spec"] for node in allocations])
    assert len(allocations) == 6 and all(isinstance(spec, TensorSpec) for spec in specs)
    operators = [node for node in gm.graph.nodes if isinstance(node.target, torch._ops.OpOverload)]
    assert operators and all(any(a.is_out for a in node.target._schema.arguments) for node in operators)
    gm = SpecPropPass()(gm).graph_module
    found = [node.meta["spec"] for node in gm.graph.output_node().args[0]]
    assert [(spec.dtype, list(spec.shape)) for spec in found] == [
        (torch.float32, [2]),
        (torch.int64, [2]),
        (torch.float32, [2, 2]),
    ]
