# SPDX-License-Identifier: BSD-3-Clause
"""Finds the tagged partitions of a program and makes a program of each."""

from __future__ import annotations

import copy
from collections.abc import Container
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
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from torch.fx import Graph, GraphModule, Node
from torch.utils import _pytree as pytree

from sdk.exir.backend._branches import WEIGHTS, constant_placeholders, kept_graphs
from sdk.exir.backend._messages import TagError, source_of
from sdk.exir.backend.partitioner import DelegationSpec
from sdk.exir.graph.programs import assemble, copy_graph_module, make_graph_module
from sdk.exir.passes.external_constants_pass import mark_placeholders_of_branches

_TAG = "delegation_tag"
COPIES = "tags_of_copies"
"""The key in `Node.meta` of a constant for the set of tags whose partitions get a copy of it."""


@dataclass
class Partition:
    """Nodes of one tag in one graph, and the program made of them.

    `owned` maps the placeholders that become the backend's to their weights and state; `inputs` are the values that the
    backend is called with; `written` maps owned buffers to the nodes that compute their new values.
    """

    tag: str
    spec: DelegationSpec
    module: GraphModule
    nodes: list[Node]
    borrowed: list[Node]
    owned: dict[Node, InputSpec]
    inputs: list[Node]
    outputs: list[Node]
    written: list[tuple[Node, Node]]
    program: ExportedProgram

    def describe(self) -> str:
        """Describes the partition for messages."""
        names = [n.name for n in self.nodes if n.op == "call_function"]
        shown = ", ".join(names if len(names) <= 4 else [*names[:2], "...", names[-1]])
        return f"the partition {self.tag!r} of {len(names)} nodes ({shown})"


def find_partitions(program: ExportedProgram, tags: dict[str, DelegationSpec]) -> list[Partition]:
    """The partitions of a tagged program, graph by graph: of the outermost first, then of branches of control flow.
    Those of one graph are in the order of `tags`."""
    partitions = []
    constants = constant_placeholders(program)
    mark_placeholders_of_branches(program, constants)
    order = {tag: i for i, tag in enumerate(tags)}
    names = {s.arg.name for s in program.graph_signature.input_specs if s.kind in WEIGHTS and hasattr(s.arg, "name")}
    weights = {node for node in program.graph.nodes if node.op == "placeholder" and node.name in names}
    for module in kept_graphs(program.graph_module):
        available = constants
        if module is program.graph_module:
            # Buffers that the program changes can be owned, too, in the graph that reads and writes them.
            state = {s.arg.name: s for s in program.graph_signature.input_specs if s.kind == InputKind.BUFFER}
            placeholders = (n for n in module.graph.nodes if n.op == "placeholder" and n.name in state)
            available = {**constants, **{node: state[node.name] for node in placeholders}}
        by_tag: dict[str, list[Node]] = {}
        _check_inputs_and_outputs(module, weights if module is program.graph_module else available)
        for node in module.graph.nodes:
            tag = node.meta.get(_TAG)
            if tag is not None and node.op in ("call_function", "get_attr"):
                if tag not in tags:
                    raise TagError(
                        f"node {node.name} has the delegation tag {tag!r}, for which the partitioner gave no "
                        f"DelegationSpec; it gave {', '.join(sorted(tags)) or 'none'}. Add the tag to `partition_tags` "
                        f"or do not set it.{source_of(node)}"
                    )
                by_tag.setdefault(tag, []).append(node)
        for tag in sorted(by_tag, key=lambda tag: order[tag]):
            partitions.append(_partition(program, module, tag, tags[tag], by_tag[tag], available))
    return partitions


def _check_inputs_and_outputs(module: GraphModule, weights: Container[Node]) -> None:
    """Raises if an output, or an input that is not one of `weights`, is tagged."""
    for node in module.graph.nodes:
        tag = node.meta.get(_TAG)
        if tag is None or node.op not in ("placeholder", "output") or node in weights:
            continue
        if node.op == "output":
            raise TagError(
                f"output node {node.name} should not be tagged: it has the delegation tag {tag!r}, but what a graph "
                "returns belongs to no delegate. Tag the operators that compute the results."
            )
        raise TagError(
            "placeholder node for non-params, non-buffer, and non-tensor constants should not be tagged: "
            f"{node.name} has the delegation tag {tag!r}, but it is an input of the graph. A delegate can own "
            "parameters, buffers and constants alone, and gets inputs from its "
            "caller: tag the operators that read it."
        )


def _partition(
    program: ExportedProgram,
    module: GraphModule,
    tag: str,
    spec: DelegationSpec,
    nodes: list[Node],
    available: dict[Node, InputSpec],
) -> Partition:
    """`available` are the weights and buffers that a partition of `module` can own."""
    members = set(nodes)
    external = list(dict.fromkeys(a for node in nodes for a in node.all_input_nodes if a not in members))
    # Modules that the partition calls cannot be inputs, so they become part of it; if other nodes use them, the graph
    # keeps them, too.
    borrowed = [node for node in external if node.op == "get_attr"]
    external = [node for node in external if node.op != "get_attr"]
    tagged = [node for node in external if node in available and node.meta.get(_TAG) == tag]
    copied = [node for node in external if node in available and tag in node.meta.get(COPIES, ())]
    owned = {node: available[node] for node in (*tagged, *copied)}
    inputs = [node for node in external if node not in owned]
    for node in tagged:
        other = next((u for u in node.users if u not in members and u.op != "output"), None)
        if other is not None:
            raise TagError(
                f"{node.name} is tagged {tag!r}, so the backend {spec.backend_id} would own it, but {other.name} "
                "outside of the partition uses it too. Do not tag constants that are shared (tag_constant_data does "
                f"not), or duplicate them first (duplicate_constant_node).{source_of(other)}"
            )
    written = _writes(program, members, owned, spec) if module is program.graph_module else []
    results = {value for _, value in written}
    outputs = [n for n in nodes if any(_leaves_partition(u, n, members, results) for u in n.users)]
    parts = (tag, spec, module, nodes, borrowed, owned, inputs, outputs, written)
    return Partition(*parts, program=_program_of(program, module, nodes, borrowed, owned, inputs, outputs, written))


def _writes(
    program: ExportedProgram, members: set[Node], owned: dict[Node, InputSpec], spec: DelegationSpec
) -> list[tuple[Node, Node]]:
    """Buffers that the partition owns and changes, each with the node that computes its new value."""
    by_target = {s.target: node for node, s in owned.items() if s.kind == InputKind.BUFFER}
    if not by_target:
        return []
    found = []
    for value, output in zip(program.graph.output_node().args[0], program.graph_signature.output_specs, strict=True):
        buffer = by_target.get(output.target) if output.kind == OutputKind.BUFFER_MUTATION else None
        if buffer is None:
            continue
        if value not in members:
            raise TagError(
                f"buffer {output.target} is tagged for a delegate of {spec.backend_id}, but its new value {value} is "
                "computed outside of the partition. Tag the node that computes it too, or do not tag the buffer "
                f"(tag_mutated_buffer tags only what one partition reads and writes).{source_of(value)}"
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


def _program_of(
    program: ExportedProgram,
    module: GraphModule,
    nodes: list[Node],
    borrowed: list[Node],
    owned: dict[Node, InputSpec],
    inputs: list[Node],
    outputs: list[Node],
    written: list[tuple[Node, Node]],
) -> ExportedProgram:
    """An exported program of a partition's nodes: owned constants first, then its inputs."""
    graph, root = Graph(), torch.nn.Module()
    mapping: dict[Node, Node] = {}
    specs: list[InputSpec] = []
    state: dict[str, Any] = {}
    constants: dict[str, Any] = {}
    attributes = {node: getattr(module, str(node.target)) for node in [*borrowed, *nodes] if node.op == "get_attr"}
    for node, value in attributes.items():
        if isinstance(value, torch.Tensor):
            # Branches hold constants as attributes; in a separate program they are inputs like all data.
            mapping[node] = _constant(graph, node, value, constants)
            specs.append(InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(mapping[node].name), str(node.target)))
        else:
            setattr(root, str(node.target), _without_tags(value) if isinstance(value, GraphModule) else value)
    for node in [*owned, *inputs]:
        new = graph.placeholder(node.name)
        new.name = node.name
        new.meta = {k: v for k, v in node.meta.items() if k not in (_TAG, COPIES)}
        mapping[node] = new
        if node in owned:
            spec = copy.copy(owned[node])
            kept_in = program.state_dict if spec.target in program.state_dict else program.constants
            (state if kept_in is program.state_dict else constants)[spec.target] = kept_in[spec.target]
            spec.arg = TensorArgument(name=new.name)
        else:
            spec = InputSpec(kind=InputKind.USER_INPUT, arg=_argument(new), target=None)
        specs.append(spec)
    for node in [*borrowed, *nodes]:
        if node not in mapping:
            mapping[node] = new = graph.node_copy(node, lambda n: mapping[n])
            new.name = node.name
            new.meta = {k: v for k, v in node.meta.items() if k != _TAG}
    output_specs = [
        OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument(mapping[value].name), owned[buffer].target)
        for buffer, value in written
    ] + [OutputSpec(OutputKind.USER_OUTPUT, _argument(mapping[n]), None) for n in outputs]
    values = [mapping[value] for _, value in written] + [mapping[n] for n in outputs]
    output = graph.output(values)
    output.meta["val"] = [v.meta.get("val") for v in values]
    example = tuple(n.meta.get("val") for n in inputs)
    call = ModuleCallEntry(
        fqn="",
        signature=ModuleCallSignature(
            inputs=[],
            outputs=[],
            in_spec=pytree.tree_structure((example, {})),
            out_spec=pytree.tree_structure([0] * len(outputs)),
        ),
    )
    signature = ExportGraphSignature(input_specs=specs, output_specs=output_specs)
    new_program = assemble(program, make_graph_module(root, graph), signature, state_dict=state, constants=constants)
    new_program._module_call_graph = [call]
    new_program._example_inputs = None
    return new_program


def _without_tags(branch: GraphModule) -> GraphModule:
    """A copy, without delegation tags, of a branch that the partition calls: the tags are this partitioner's, and the
    backend may apply its own partitioner to the branch."""
    copied = copy_graph_module(branch)
    for module in copied.modules():
        for node in module.graph.nodes if isinstance(module, GraphModule) else ():
            node.meta.pop(_TAG, None)
    return copied


def _constant(graph: Graph, node: Node, value: torch.Tensor, constants: dict[str, Any]) -> Node:
    placeholder = graph.placeholder(node.name)
    placeholder.name = node.name
    placeholder.meta = {"val": node.meta.get("val", value)}
    constants[str(node.target)] = value
    return placeholder


def _argument(node: Node) -> Any:
    value = node.meta.get("val")
    for kinds, argument in (
        ((torch.SymBool, bool), SymBoolArgument),
        ((torch.SymInt, int), SymIntArgument),
        ((torch.SymFloat, float), SymFloatArgument),
    ):
        if isinstance(value, kinds):
            return argument(name=node.name)
    return TensorArgument(name=node.name)
