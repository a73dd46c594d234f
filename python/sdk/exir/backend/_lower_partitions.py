# SPDX-License-Identifier: BSD-3-Clause
"""Cuts tagged partitions out of a program, and puts delegate calls in their place."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)
from torch.fx import Graph, GraphModule, Node
from torch.utils import _pytree as pytree

from sdk.exir.backend.partitioner import DelegationSpec
from sdk.exir.delegate import executorch_call_delegate
from sdk.exir.lowered_backend_module import LoweredBackendModule
from sdk.exir.program._rebuild import assemble

_TAG = "delegation_tag"


@dataclass
class Partition:
    """Nodes of one tag in one graph, and the program made of them."""

    tag: str
    spec: DelegationSpec
    module: GraphModule
    nodes: list[Node]
    borrowed: list[Node]
    owned: list[Node]
    inputs: list[Node]
    outputs: list[Node]
    written: list[tuple[Node, Node]]
    program: ExportedProgram | None = None


def find_partitions(program: ExportedProgram, tags: dict[str, DelegationSpec]) -> list[Partition]:
    """The partitions of a tagged program, in the order of their tags' first nodes, branches of control flow
    included."""
    partitions = []
    for module in program.graph_module.modules():
        if not isinstance(module, GraphModule):
            continue
        by_tag: dict[str, list[Node]] = {}
        for node in module.graph.nodes:
            tag = node.meta.get(_TAG)
            if tag is not None and node.op in ("call_function", "get_attr"):
                if tag not in tags:
                    raise ValueError(
                        f"node {node.name} has the delegation tag {tag!r}, for which the partitioner gave no "
                        f"DelegationSpec; "
                        f"it gave {', '.join(sorted(tags)) or 'none'}"
                    )
                by_tag.setdefault(tag, []).append(node)
        ordered = sorted(by_tag, key=list(tags).index)
        partitions += [_partition(program, module, tag, tags[tag], by_tag[tag]) for tag in ordered]
    return partitions


def _partition(
    program: ExportedProgram, module: GraphModule, tag: str, spec: DelegationSpec, nodes: list[Node]
) -> Partition:
    members = set(nodes)
    signature = program.graph_signature
    state = {s.arg.name for s in signature.input_specs if s.kind != InputKind.USER_INPUT and hasattr(s.arg, "name")}
    is_top = module is program.graph_module
    external = list(dict.fromkeys(a for node in nodes for a in node.all_input_nodes if a not in members))
    # Modules that the partition calls cannot be inputs: they become part of it, and stay where others use them too.
    borrowed = [node for node in external if node.op == "get_attr"]
    external = [node for node in external if node.op != "get_attr"]
    owned: list[Node] = []
    inputs: list[Node] = []
    for node in external:
        owns = is_top and node.op == "placeholder" and node.name in state and node.meta.get(_TAG) == tag
        (owned if owns else inputs).append(node)
    for node in owned:
        others = [u.name for u in node.users if u not in members and u.op != "output"]
        if others:
            raise ValueError(
                f"{node.name} is tagged {tag!r}, so the backend {spec.backend_id} would own it, but "
                f"{', '.join(others)} outside "
                "the partition use it too. Do not tag constants that are shared, or duplicate them first "
                "(duplicate_constant_node)."
            )
    written = _writes(program, module, members, owned) if is_top else []
    results = {value for _, value in written}
    outputs = [n for n in nodes if any(_leaves_partition(u, n, members, results) for u in n.users)]
    partition = Partition(tag, spec, module, nodes, borrowed, owned, inputs, outputs, written)
    partition.program = _program_of(program, partition)
    return partition


def _writes(
    program: ExportedProgram, module: GraphModule, members: set[Node], owned: list[Node]
) -> list[tuple[Node, Node]]:
    """Buffers that the partition owns and changes, each with the node that computes its new value."""
    targets = {s.target: s.arg.name for s in program.graph_signature.input_specs if s.kind == InputKind.BUFFER}
    by_name = {n.name: n for n in owned}
    output = next(n for n in module.graph.nodes if n.op == "output")
    found = []
    for value, spec in zip(output.args[0], program.graph_signature.output_specs, strict=True):
        if spec.kind != OutputKind.BUFFER_MUTATION:
            continue
        buffer = by_name.get(targets.get(spec.target, ""))
        if buffer is None:
            continue
        if value not in members:
            raise ValueError(
                f"buffer {spec.target} is tagged for a delegate, but its new value is computed outside of the partition"
            )
        found.append((buffer, value))
    return found


def _leaves_partition(user: Node, node: Node, members: set[Node], results: set[Node]) -> bool:
    if user in members:
        return False
    if user.op != "output" or node not in results:
        return True
    # The output node uses the new value of an owned buffer once; any further use returns it to the caller.
    return sum(value is node for value in user.args[0]) > 1


def _program_of(program: ExportedProgram, partition: Partition) -> ExportedProgram:
    """An exported program of a partition's nodes: owned constants first, then its inputs."""
    graph, root = Graph(), torch.nn.Module()
    specs = {s.arg.name: s for s in program.graph_signature.input_specs if hasattr(s.arg, "name")}
    mapping: dict[Node, Node] = {}
    input_specs: list[InputSpec] = []
    state: dict[str, Any] = {}
    constants: dict[str, Any] = {}
    for node in [*partition.owned, *partition.inputs]:
        new = graph.placeholder(node.name)
        new.name = node.name
        new.meta = {k: v for k, v in node.meta.items() if k != _TAG}
        mapping[node] = new
        if node in partition.owned:
            spec = copy.copy(specs[node.name])
            source, target = (
                (program.state_dict, state) if spec.target in program.state_dict else (program.constants, constants)
            )
            target[spec.target] = source[spec.target]
            spec.arg = copy.copy(spec.arg)
        else:
            kind = SymIntArgument if isinstance(node.meta.get("val"), torch.SymInt) else TensorArgument
            spec = InputSpec(kind=InputKind.USER_INPUT, arg=kind(name=new.name), target=None)
        input_specs.append(spec)
    for node in [*partition.borrowed, *partition.nodes]:
        new = graph.node_copy(node, lambda n: mapping[n])
        new.name = node.name
        new.meta = dict(node.meta)
        mapping[node] = new
        if node.op == "get_attr":
            setattr(root, node.target, getattr(partition.module, node.target))
    buffers = {s.arg.name: s.target for s in program.graph_signature.input_specs if hasattr(s.arg, "name")}
    output_specs = [
        OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument(mapping[value].name), buffers[buffer.name])
        for buffer, value in partition.written
    ] + [OutputSpec(OutputKind.USER_OUTPUT, _argument(mapping[n]), None) for n in partition.outputs]
    values = [mapping[value] for _, value in partition.written] + [mapping[n] for n in partition.outputs]
    output = graph.output(values)
    output.meta["val"] = [v.meta.get("val") for v in values]
    example = tuple(n.meta.get("val") for n in partition.inputs)
    call = ModuleCallEntry(
        fqn="",
        signature=ModuleCallSignature(
            inputs=[],
            outputs=[],
            in_spec=pytree.tree_structure((example, {})),
            out_spec=pytree.tree_structure([0] * len(partition.outputs)),
        ),
    )
    signature = ExportGraphSignature(input_specs=input_specs, output_specs=output_specs)
    new_program = assemble(program, GraphModule(root, graph), signature, state_dict=state, constants=constants)
    new_program._module_call_graph = [call]
    new_program._example_inputs = None
    return new_program


def _argument(node: Node) -> Any:
    return (SymIntArgument if isinstance(node.meta.get("val"), torch.SymInt) else TensorArgument)(name=node.name)


def insert_delegates(
    program: ExportedProgram, partitions: list[Partition], make: Callable[[int], LoweredBackendModule]
) -> ExportedProgram:
    """Replaces each partition by a call of `make(i)`. Edits the graph of `program`; returns it with the new
    signature and weights."""
    removed: set[str] = set()
    results: dict[Node, Node] = {}
    for i, partition in enumerate(partitions):
        _insert_delegate(partition, make(i), results)
        removed |= {n.name for n in partition.owned}
    specs = program.graph_signature.input_specs
    gone = {s.target for s in specs if getattr(s.arg, "name", None) in removed}
    output_specs = _drop_owned_writes(program, gone)
    for module in program.graph_module.modules():
        if isinstance(module, GraphModule):
            sort_topologically(module.graph)
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
    names = [
        n.name if isinstance(n, Node) else None
        for n in next(n for n in program.graph.nodes if n.op == "output").args[0]
    ]
    for name, spec in zip(names, signature.output_specs, strict=True):
        if name is not None:
            spec.arg.name = name
    return assemble(program, program.graph_module, signature, state_dict=keep, constants=constants)


def _drop_owned_writes(program: ExportedProgram, gone: set[str]) -> list[OutputSpec]:
    output = next(n for n in program.graph.nodes if n.op == "output")
    kept = [
        (value, spec)
        for value, spec in zip(output.args[0], program.graph_signature.output_specs, strict=True)
        if not (spec.kind == OutputKind.BUFFER_MUTATION and spec.target in gone)
    ]
    output.args = (tuple(value for value, _ in kept),)
    output.meta["val"] = tuple(v.meta.get("val") if isinstance(v, Node) else v for v, _ in kept)
    return [spec for _, spec in kept]


def _insert_delegate(partition: Partition, lowered: LoweredBackendModule, results: dict[Node, Node]) -> None:
    """`results` maps nodes that a delegate took over to the nodes that read them from its result; new ones are
    added."""
    graph, module = partition.module.graph, partition.module
    _remove_modules(partition)
    index = 0
    while hasattr(module, f"lowered_module_{index}"):
        index += 1
    name = f"lowered_module_{index}"
    module.add_module(name, lowered)
    output = next(n for n in graph.nodes if n.op == "output")
    with graph.inserting_before(output):
        attribute = graph.get_attr(name)
        # What this partition reads may be the result of one that was replaced before it.
        inputs = [results.get(node, node) for node in partition.inputs]
        call = graph.call_function(executorch_call_delegate, (attribute, *inputs))
        call.meta["val"] = [n.meta.get("val") for n in partition.outputs]
        call.meta["debug_handle"] = partition.nodes[-1].meta.get("debug_handle", 0)
        for i, node in enumerate(partition.outputs):
            item = graph.call_function(operator.getitem, (call, i))
            item.meta = {k: v for k, v in node.meta.items() if k in ("val", "debug_handle")}
            results[node] = item
            members = set(partition.nodes)
            node.replace_all_uses_with(item, delete_user_cb=lambda user, members=members: user not in members)
    for _, value in partition.written:
        output.args = (tuple(None if v is value else v for v in output.args[0]),)
    for node in reversed(partition.nodes):
        graph.erase_node(node)
    for node in partition.borrowed:
        if not node.users:
            graph.erase_node(node)


def _remove_modules(partition: Partition) -> None:
    """Removes modules that only the partition calls; its program has them."""
    members = {*partition.nodes, *partition.borrowed}
    mine = [n for n in members if n.op == "get_attr" and all(user in members for user in n.users)]
    still_used = {n.target for n in partition.module.graph.nodes if n.op == "get_attr" and n not in mine}
    for target in {n.target for n in mine} - still_used:
        if isinstance(getattr(partition.module, target, None), torch.nn.Module):
            delattr(partition.module, target)


def sort_topologically(graph: Graph) -> None:
    """Moves nodes so that each comes after what it reads, changing the order as little as possible. Raises if
    there is a cycle."""
    order: list[Node] = []
    state: dict[Node, int] = {}
    nodes = list(graph.nodes)
    for start in nodes:
        stack = [(start, iter(start.all_input_nodes))]
        if start in state:
            continue
        state[start] = 1
        while stack:
            node, pending = stack[-1]
            following = next((n for n in pending if state.get(n) != 2), None)
            if following is None:
                stack.pop()
                state[node] = 2
                order.append(node)
            elif state.get(following) == 1:
                cycle = ", ".join(n.name for n, _ in stack)
                raise ValueError(
                    f"a partition depends on its own result through nodes outside of it ({cycle}). Nodes of one tag "
                    f"must be "
                    "computable together: split the partition."
                )
            else:
                state[following] = 1
                stack.append((following, iter(following.all_input_nodes)))
    if order != nodes:
        for node in order:
            graph._root.prepend(node)
