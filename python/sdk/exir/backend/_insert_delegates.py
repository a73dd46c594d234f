# SPDX-License-Identifier: BSD-3-Clause
"""Replaces partitions by delegate calls."""

from __future__ import annotations

import operator
from collections.abc import Callable

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, OutputKind, OutputSpec
from torch.fx import Graph, Node

from sdk.exir.backend._branches import drop_unused_operands, kept_graphs
from sdk.exir.backend._lower_partitions import COPIES, Partition
from sdk.exir.backend._messages import TagError, source_of
from sdk.exir.delegate import executorch_call_delegate
from sdk.exir.graph.programs import assemble
from sdk.exir.lowered_backend_module import LoweredBackendModule


class _CycleError(Exception):
    """Nodes that depend on each other in a cycle, in order."""

    def __init__(self, nodes: list[Node]) -> None:
        super().__init__(", ".join(n.name for n in nodes))
        self.nodes = nodes


def insert_delegates(
    program: ExportedProgram, partitions: list[Partition], make: Callable[[int], LoweredBackendModule]
) -> ExportedProgram:
    """Replaces each partition by a call of `make(i)`. Edits the graph of `program`; returns it with the new
    signature and weights."""
    results: dict[Node, Node] = {}
    calls: dict[Node, Partition] = {}
    for i, partition in enumerate(partitions):
        calls[_insert_delegate(partition, make(i), results)] = partition
    owned = {node for partition in partitions for node in partition.owned}
    drop_unused_operands(program.graph_module, owned)
    placeholders = [n for n in program.graph.nodes if n.op == "placeholder" and n in owned]
    # A copied node stays if something else reads it.
    removed = {n.name for n in placeholders if not (n.meta.pop(COPIES, None) and n.users)}
    specs = program.graph_signature.input_specs
    gone = {s.target for s in specs if getattr(s.arg, "name", None) in removed}
    output_specs = _drop_owned_writes(program, gone)
    for module in kept_graphs(program.graph_module):
        try:
            sort_topologically(module.graph)
        except _CycleError as cycle:
            raise TagError(_explain(cycle.nodes, calls)) from None
        module.recompile()
    for node in list(program.graph.nodes):
        if node.op == "placeholder" and node.name in removed:
            program.graph.erase_node(node)
    program.graph_module.recompile()
    signature = ExportGraphSignature(
        input_specs=[s for s in specs if getattr(s.arg, "name", None) not in removed], output_specs=output_specs
    )
    used = {s.target for s in signature.input_specs}
    keep = {k: v for k, v in program.state_dict.items() if k not in gone or k in used}
    constants = {k: v for k, v in program.constants.items() if k not in gone or k in used}
    for value, spec in zip(program.graph.output_node().args[0], signature.output_specs, strict=True):
        if isinstance(value, Node):
            spec.arg.name = value.name
    return assemble(program, program.graph_module, signature, state_dict=keep, constants=constants)


def _explain(cycle: list[Node], calls: dict[Node, Partition]) -> str:
    partitions = [calls[n] for n in cycle if n in calls]
    outside = [n for n in cycle if n not in calls and n.target is not operator.getitem]
    parts = " and ".join(f"{p.describe()} for {p.spec.backend_id}" for p in partitions)
    path = f", through {', '.join(n.name for n in outside)} outside of it" if outside else ""
    return (
        f"{parts[0].upper()}{parts[1:]} depends on its own result{path}, so it cannot be one call. Nodes of one tag "
        "must be computable together: split the partition, or add the nodes between to it."
        f"{source_of(outside[0] if outside else partitions[0].nodes[0])}"
    )


def _drop_owned_writes(program: ExportedProgram, gone: set[str]) -> list[OutputSpec]:
    output = program.graph.output_node()
    kept = [
        (value, spec)
        for value, spec in zip(output.args[0], program.graph_signature.output_specs, strict=True)
        if not (spec.kind == OutputKind.BUFFER_MUTATION and spec.target in gone)
    ]
    output.args = (tuple(value for value, _ in kept),)
    output.meta["val"] = tuple(v.meta.get("val") if isinstance(v, Node) else v for v, _ in kept)
    return [spec for _, spec in kept]


def _insert_delegate(partition: Partition, lowered: LoweredBackendModule, results: dict[Node, Node]) -> Node:
    """Returns the call. `results` maps nodes that a delegate took over to the nodes that read them from its result;
    new ones are added."""
    graph, module = partition.module.graph, partition.module
    _remove_modules(partition)
    index = 0
    while hasattr(module, f"lowered_module_{index}"):
        index += 1
    name = f"lowered_module_{index}"
    module.add_module(name, lowered)
    output = graph.output_node()
    members = set(partition.nodes)
    with graph.inserting_before(output):
        attribute = graph.get_attr(name)
        # Inputs of this partition may be results of a partition that was replaced before it.
        inputs = [results.get(node, node) for node in partition.inputs]
        call = graph.call_function(executorch_call_delegate, (attribute, *inputs))
        call.meta["val"] = [n.meta.get("val") for n in partition.outputs]
        call.meta["debug_handle"] = partition.nodes[-1].meta.get("debug_handle", 0)
        for i, node in enumerate(partition.outputs):
            item = graph.call_function(operator.getitem, (call, i))
            item.meta = {k: v for k, v in node.meta.items() if k in ("val", "debug_handle")}
            results[node] = item
            node.replace_all_uses_with(item, delete_user_cb=lambda user: user not in members)
    for _, value in partition.written:
        output.args = (tuple(None if v is value else v for v in output.args[0]),)
    for node in reversed(partition.nodes):
        graph.erase_node(node)
    for node in partition.borrowed:
        if not node.users:
            graph.erase_node(node)
    return call


def _remove_modules(partition: Partition) -> None:
    """Removes modules that only the partition calls. The partition's program contains them."""
    members = {*partition.nodes, *partition.borrowed}
    mine = [n for n in members if n.op == "get_attr" and all(user in members for user in n.users)]
    still_used = {n.target for n in partition.module.graph.nodes if n.op == "get_attr" and n not in mine}
    for target in {n.target for n in mine} - still_used:
        if isinstance(getattr(partition.module, target, None), torch.nn.Module):
            delattr(partition.module, target)


def sort_topologically(graph: Graph) -> None:
    """Moves nodes so that each comes after its inputs, changing the order as little as possible. Raises
    `_CycleError` if there is a cycle."""
    order: list[Node] = []
    state: dict[Node, int] = {}
    nodes = list(graph.nodes)
    for start in nodes:
        if start in state:
            continue
        stack = [(start, iter(start.all_input_nodes))]
        state[start] = 1
        while stack:
            node, pending = stack[-1]
            following = next((n for n in pending if state.get(n) != 2), None)
            if following is None:
                stack.pop()
                state[node] = 2
                order.append(node)
            elif state.get(following) == 1:
                path = [n for n, _ in stack]
                raise _CycleError(path[path.index(following) :])
            else:
                state[following] = 1
                stack.append((following, iter(following.all_input_nodes)))
    if order != nodes:
        for node in order:
            graph._root.prepend(node)
