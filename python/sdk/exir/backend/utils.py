# SPDX-License-Identifier: BSD-3-Clause
"""Helpers for partitioners and backends."""

from __future__ import annotations

import operator
from collections import defaultdict
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Graph, GraphModule, Node

from sdk.exir.backend._branches import constant_placeholders, kept_graphs, shared_constants, tags_of_constants
from sdk.exir.backend._lower_partitions import COPIES
from sdk.exir.backend.declarations import WhyNoPartition, get_refusals, refuse
from sdk.exir.backend.reports import ReportRejected, WhyNoPartitionReporter
from sdk.exir.delegate import executorch_call_delegate, is_lowered_module
from sdk.exir.graph_module import get_control_flow_submodules
from sdk.exir.lowered_backend_module import get_lowered_submodules

__all__ = [
    "DelegateMappingBuilder",
    "ReportRejected",
    "WhyNoPartition",
    "WhyNoPartitionReporter",
    "constant_placeholders",
    "copy_constant",
    "first_difference",
    "format_delegated_graph",
    "get_delegated_payload",
    "get_delegates",
    "get_non_lowered_nodes",
    "get_refusals",
    "is_identical_graph",
    "kept_graphs",
    "print_delegated_graph",
    "refuse",
    "shared_constants",
    "tag_constant_data",
    "tag_mutated_buffer",
]


def is_identical_graph(graph_left: GraphModule, graph_right: GraphModule) -> bool:
    """Whether two graphs call the same operators on the same arguments in the same order, in branches of control
    flow too. Names of nodes and metadata do not count."""
    return first_difference(graph_left, graph_right) is None


def first_difference(left: GraphModule, right: GraphModule) -> str | None:
    """A description of the first difference between two graphs; None if they are identical."""
    old, new = list(right.graph.nodes), list(left.graph.nodes)
    number = {node: i for nodes in (old, new) for i, node in enumerate(nodes)}

    def form(node: Node) -> str:
        value = (node.args, node.kwargs)
        return repr(torch.fx.node.map_aggregate(value, lambda a: f"%{number[a]}" if isinstance(a, Node) else a))

    for a, b in zip(new, old, strict=False):
        if a.op != b.op or (a.op in ("call_function", "get_attr") and a.target != b.target):
            return f"{b.name} ({b.op} of {b.target}) became {a.name} ({a.op} of {a.target})"
        if form(a) != form(b):
            return f"the arguments of {b.name} changed from {b.args} to {a.args}"
    if len(new) != len(old):
        return f"it has {len(new)} nodes instead of {len(old)}"
    branches = {name: module for name, module, _ in get_control_flow_submodules(right)}
    for name, module, _ in get_control_flow_submodules(left):
        if found := first_difference(module, branches[name]):
            return f"in {name}, {found}"
    return None


def get_non_lowered_nodes(graph: Graph) -> list[Node]:
    """Calls that no delegate took."""
    return [
        n
        for n in graph.nodes
        if n.op == "call_function" and n.target is not executorch_call_delegate and not _reads_delegate(n)
    ]


def _reads_delegate(node: Node) -> bool:
    return node.target is operator.getitem and getattr(node.args[0], "target", None) is executorch_call_delegate


def get_delegates(graph: Graph) -> list[Node]:
    """The nodes that hold lowered modules."""
    return [n for n in graph.nodes if n.op == "get_attr" and n.name.startswith("lowered_module_")]


def get_delegated_payload(graph_module: GraphModule) -> dict[str, tuple[str, list[Any], bytes]]:
    """For every lowered module by name: backend id, compile specs and payload."""
    return {
        name: (module.backend_id, module.compile_specs, module.processed_bytes)
        for name, module, _ in get_lowered_submodules(graph_module)
    }


def format_delegated_graph(graph_module: GraphModule) -> str:
    """The graph as text. Under each lowered module, and under each branch of control flow, its own graph."""
    lines = ["graph():"]
    for node in graph_module.graph.nodes:
        text = node.format_node()
        if text is not None:
            lines.append(f"  {text}")
        if node.op != "get_attr":
            continue
        module: Any = getattr(graph_module, node.target, None)
        if is_lowered_module(module):
            inner = format_delegated_graph(module.original_module.graph_module).splitlines()
            lines += [f"    backend_id: {module.backend_id}", *_indented(["lowered " + inner[0], *inner[1:]])]
        elif isinstance(module, GraphModule):
            lines += _indented(format_delegated_graph(module).splitlines())
    return "\n".join(lines)


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def print_delegated_graph(graph_module: GraphModule) -> None:
    """Prints `format_delegated_graph`."""
    print(format_delegated_graph(graph_module))


def tag_constant_data(edge_program: ExportedProgram) -> None:
    """Tags weights and unchanged buffers with the tag of their users, if these all have the same one, so that the
    delegate owns them. A weight that only a branch of control flow uses is tagged there."""
    for node, tag in tags_of_constants(edge_program).items():
        node.meta["delegation_tag"] = tag


def copy_constant(constant: Node, tag: str) -> None:
    """Gives the delegate of the partition `tag` a copy of a weight or constant, even if others read it, too. `constant`
    is its placeholder. Backends that must know a number to compile need this; the payload contains each copy."""
    constant.meta.setdefault(COPIES, set()).add(tag)


def tag_mutated_buffer(edge_program: ExportedProgram) -> None:
    """Tags buffers that one partition reads and changes, and nothing else, so that the delegate keeps them as its
    state."""
    values = edge_program.graph.output_node().args[0]
    new_values = dict(zip((s.target for s in edge_program.graph_signature.output_specs), values, strict=True))
    mutated = set(edge_program.graph_signature.buffers_to_mutate.values())
    specs = {s.arg.name: s for s in edge_program.graph_signature.input_specs if s.kind == InputKind.BUFFER}
    for node in edge_program.graph.nodes:
        spec = specs.get(node.name) if node.op == "placeholder" else None
        if spec is not None and spec.target in mutated and node.users:
            written_by = new_values[spec.target]
            tags = {user.meta.get("delegation_tag") for user in (*node.users, written_by)}
            if len(tags) == 1 and None not in tags:
                node.meta["delegation_tag"] = tags.pop()


class DelegateMappingBuilder:
    """Collects the nodes from which each instruction of a backend was made.

    Instructions are numbered from 0 on if `generated_identifiers`, otherwise the backend names them with ints or
    strings.
    """

    def __init__(self, generated_identifiers: bool = False) -> None:
        self._generated_identifiers = generated_identifiers
        self._entries: dict[int | str, list[int]] = defaultdict(list)
        self._next = 0

    def get_delegate_mapping(self) -> dict[int | str, tuple[int, ...]]:
        """Returns, for every identifier, its debug handles."""
        return {identifier: tuple(sorted(set(handles))) for identifier, handles in self._entries.items()}

    def insert_delegate_mapping_entry(
        self,
        nodes: Node | list[Node] | None = None,
        handles: int | list[int | None] | None = None,
        identifier: int | str | None = None,
    ) -> int | str:
        """Adds an instruction, given the nodes or the debug handles it came from. Returns its identifier."""
        if self._generated_identifiers == (identifier is not None):
            raise ValueError(
                "pass identifiers, or construct the builder with generated_identifiers=True and pass none: not a "
                "mixture of both"
            )
        if (nodes is None) == (handles is None):
            raise ValueError("pass either nodes or handles")
        if identifier is None:
            identifier, self._next = self._next, self._next + 1
        elif identifier in self._entries:
            raise ValueError(f"identifier {identifier!r} is in the map already")
        elif self._entries and type(identifier) is not type(next(iter(self._entries))):
            raise ValueError("identifiers must be all ints or all strings")
        if nodes is not None:
            handles = [n.meta.get("debug_handle") for n in (nodes if isinstance(nodes, list) else [nodes])]
        found = [h for h in (handles if isinstance(handles, list) else [handles]) if h is not None]
        self._entries[identifier] = found
        return identifier
