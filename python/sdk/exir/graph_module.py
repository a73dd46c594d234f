# SPDX-License-Identifier: BSD-3-Clause
"""Finds the branches of control flow in a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.fx import GraphModule, Node

from sdk.exir.error import ExportError, ExportErrorType

_BRANCHES: dict[str, tuple[int, ...]] = {
    "cond": (1, 2),
    "map_impl": (0,),
    "while_loop": (0, 1),
    "scan": (0,),
}
"""Which arguments of a control-flow operator are graph modules."""


def _get_submodule(graph_module: GraphModule, node: Node, arg_index: int) -> tuple[str, torch.nn.Module, Node]:
    """Name, module and `get_attr` node of an argument that is a submodule."""
    submodule_node = node.args[arg_index]
    if not isinstance(submodule_node, Node) or submodule_node.op != "get_attr":
        raise ExportError(
            ExportErrorType.VIOLATION_OF_SPEC,
            f"argument {arg_index} of {node.name} must be a get_attr node of a submodule, got {submodule_node}",
        )
    return submodule_node.target, graph_module.get_submodule(submodule_node.target), submodule_node


def _submodules(graph_module: GraphModule, operators: Iterable[str]) -> list[tuple[str, GraphModule, Node]]:
    """The submodules of the calls of these operators in a graph, not in its branches."""
    found = []
    for node in graph_module.graph.nodes:
        if node.op != "call_function" or not isinstance(node.target, torch._ops.HigherOrderOperator):
            continue
        name = node.target.name()
        for index in _BRANCHES[name] if name in operators else ():
            target, module, _ = _get_submodule(graph_module, node, index)
            found.append((target, module, node))
    return found


def get_control_flow_submodules(graph_module: GraphModule) -> list[tuple[str, GraphModule, Node]]:
    """Branches and bodies of cond, map, while_loop and scan in a graph: name, module and the node that calls it."""
    return _submodules(graph_module, _BRANCHES)


def get_cond_while_submodules(graph_module: GraphModule) -> list[tuple[str, GraphModule, Node]]:
    """The branches of cond, and the conditions and bodies of while_loop."""
    return _submodules(graph_module, ("cond", "while_loop"))


def get_scan_submodules(graph_module: GraphModule) -> list[tuple[str, GraphModule, Node]]:
    """The bodies of scan."""
    return _submodules(graph_module, ("scan",))


def bfs_trace_with_node_process(gm: GraphModule, node_op: Callable[[Node], Any]) -> None:
    """Calls `node_op(node)` for every node of the graph and of its branches, outermost graph first."""
    for module in _breadth_first(gm):
        for node in module.graph.nodes:
            node_op(node)


def _breadth_first(graph_module: GraphModule) -> Iterator[GraphModule]:
    queue = [graph_module]
    while queue:
        module = queue.pop(0)
        yield module
        queue.extend(submodule for _, submodule, _ in get_control_flow_submodules(module))
