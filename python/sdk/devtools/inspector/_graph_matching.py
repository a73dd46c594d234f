# SPDX-License-Identifier: BSD-3-Clause
"""Gives nodes of the exported graph the debug handles of edge nodes."""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterator
from typing import Any

from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from sdk.devtools.inspector._intermediate_output_capturer import DebugHandle, handle_of
from sdk.devtools.inspector._matching import graphs_of
from sdk.exir.debug_handle_utils import DEBUG_HANDLE_KEY, UNSET_DEBUG_HANDLE


def propagate_back_debug_handle(
    exported_program: ExportedProgram,
    exported_program_graph_id: int,
    edge_dialect_program: ExportedProgram,
    disable_debug_handle_valdiation: bool = False,
) -> bool:
    """Gives each node of an exported program the debug handle of the edge nodes that were lowered from it.

    Args:
        exported_program: The result of `torch.export`, changed in place. If this function returns True, each call node
            has a handle: that of the edge nodes lowered from it, or `UNSET_DEBUG_HANDLE` without any.
        exported_program_graph_id: The number by which edge nodes refer to this graph: `ETRecord.export_graph_id`.
        edge_dialect_program: The edge program that was lowered from it.
        disable_debug_handle_valdiation: Accept edge nodes that come from no node of the program.

    Returns:
        Whether every edge node comes from a node of the program.
    """
    ours = {node.name: node for node in exported_program.graph.nodes if node.op == "call_function"}
    found: dict[str, int] = {}
    complete = True
    for graph_module in graphs_of(edge_dialect_program.graph_module):
        is_top = graph_module is edge_dialect_program.graph_module
        for node in graph_module.graph.nodes:
            if handle_of(node) is None:
                continue
            name = _ancestor(node, exported_program_graph_id)
            if name is not None and name in ours:
                found[name] = node.meta[DEBUG_HANDLE_KEY]
            elif is_top:  # nodes of branches come from separate graphs
                complete = False
    if not complete and not disable_debug_handle_valdiation:
        return False
    for name, node in ours.items():
        source = node.args[0].name if node.target is operator.getitem and isinstance(node.args[0], Node) else name
        node.meta[DEBUG_HANDLE_KEY] = found.get(source, UNSET_DEBUG_HANDLE)
    return True


def _ancestor(node: Node, graph_id: int) -> str | None:
    """The name of the node from which `node` comes, in the graph `graph_id`; None if it comes from another graph."""
    pending = list(node.meta.get("from_node") or ())
    while pending:
        source = pending.pop()
        if source.graph_id == graph_id:
            return str(source.name)
        pending.extend(source.from_node)
    return None


def get_aot_debug_handle_to_op_name_mapping(graph_module: GraphModule) -> dict[DebugHandle, list[str]]:
    """The names of the nodes by debug handle, in the order of the graph."""
    names: dict[DebugHandle, list[str]] = {}
    for node in graph_module.graph.nodes:
        handle = handle_of(node)
        if handle is not None:
            names.setdefault(handle, []).append(node.name)
    return names


def copy_for_handles(program: ExportedProgram) -> ExportedProgram:
    """A copy of a program, whose nodes can get other handles. Tensors are shared."""
    twin = copy.copy(program)
    twin._graph_module = copy.deepcopy(program.graph_module, {id(t): t for t in _constants(program.graph_module)})
    return twin


def _constants(module: GraphModule) -> Iterator[Any]:
    yield from module.parameters()
    yield from module.buffers()
