# SPDX-License-Identifier: BSD-3-Clause
"""Memory of loops beyond their bodies' tensors: slices of inputs, results that grow with each iteration, and state
whose parts do not overwrite each other."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from sdk.exir import memory
from sdk.exir.memory_planning._lifetimes import control_flow_branches, get_node_tensor_specs, storage_spec
from sdk.exir.schema import TensorShapeDynamism
from sdk.exir.tensor import TensorSpec

_CARRY = {"scan": 1, "while_loop": 2, "map_impl": None}
"""Position of the argument with the initial values of the state that a loop passes from iteration to iteration."""


def number_carried(node: Node) -> int:
    """Returns the number of values that a loop passes from one iteration to the next. They come first among its
    results."""
    position = _CARRY[node.target.__name__]
    return 0 if position is None else len(node.args[position])


def slices(graph_module: GraphModule, node: Node) -> list[TensorSpec]:
    """The inputs of a body that are slices of the loop's inputs: each iteration copies them from there."""
    kind = node.target.__name__
    if kind not in ("scan", "map_impl"):
        return []
    (body,) = control_flow_branches(graph_module, node)
    carried = number_carried(node)
    count = len(node.args[2 if kind == "scan" else 1])
    placeholders = [n for n in body.graph.nodes if n.op == "placeholder"]
    return [spec for n in placeholders[carried : carried + count] for spec in get_node_tensor_specs(n)]


def prepare_loops(graph_module: GraphModule) -> None:
    """Separates the parts of the state of loops, and makes the stacked results of loops dynamic, as each iteration
    appends to them. Call it before lifetimes are computed, on graphs with out variants. A second call changes
    nothing."""
    for node in graph_module.graph.nodes:
        branches = control_flow_branches(graph_module, node)
        for branch in branches:
            prepare_loops(branch)
        if branches and node.target.__name__ in _CARRY:
            carried = number_carried(node)
            _separate_state(branches[-1], carried)
            if node.target.__name__ != "while_loop":
                for spec in node.meta["spec"][carried:]:
                    # Each iteration appends one entry to the result.
                    spec.shape_dynamism = TensorShapeDynamism.DYNAMIC_BOUND


def _separate_state(body: GraphModule, carried: int) -> None:
    """Clones results of a body that alias other parts of its state, because these are written in sequence."""
    placeholders = [n for n in body.graph.nodes if n.op == "placeholder"][:carried]
    owner = {
        storage_spec(n.meta["spec"]): i for i, n in enumerate(placeholders) if isinstance(n.meta["spec"], TensorSpec)
    }
    output = body.graph.output_node()
    results = list(output.args[0]) if isinstance(output.args[0], (tuple, list)) else [output.args[0]]
    for i, result in enumerate(results[:carried]):
        spec = result.meta.get("spec") if isinstance(result, Node) else None
        if isinstance(spec, TensorSpec) and owner.get(storage_spec(spec), i) != i:
            results[i] = _clone(body, result, output)
    if results != list(output.args[0]):
        output.args = (tuple(results),)
        output.meta["spec"] = tuple(r.meta.get("spec") if isinstance(r, Node) else r for r in results)
        body.recompile()


def _clone(body: GraphModule, source: Node, before: Node) -> Node:
    spec = TensorSpec.from_tensor(source.meta["val"])
    spec.shape, spec.stride = list(source.meta["spec"].shape), source.meta["spec"].stride
    spec.dim_order = source.meta["spec"].dim_order
    with body.graph.inserting_before(before):
        alloc = body.graph.call_function(memory.alloc, ((tuple(spec.shape), spec.dtype),))
        clone = body.graph.call_function(torch.ops.aten.clone.out, (source,), {"out": alloc})
    for node in (alloc, clone):
        node.meta = {"val": source.meta["val"], "spec": spec, "stack_trace": source.meta.get("stack_trace")}
    return clone
