# SPDX-License-Identifier: BSD-3-Clause
"""Numbers the nodes of a graph, so that profiles and dumps of a program can be traced back to it."""

from __future__ import annotations

import operator

from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir.debug_handle_utils import DEBUG_HANDLE_KEY, UNSET_DEBUG_HANDLE
from sdk.exir.pass_base import ExportPass


class DebugHandleGeneratorPass(ExportPass):
    """Gives every operator of the captured program a handle from 1 on, branches included. The nodes into which an
    operator was decomposed share its handle, and so do `getitem` nodes. A node that reads an attribute, such as a
    branch or a lowered module, has the handle of its first user.
    """

    def call(self, graph_module: GraphModule) -> PassResult:
        handle = UNSET_DEBUG_HANDLE
        known: dict[tuple[int, str], int] = {}
        for module in graph_module.modules():
            if isinstance(module, GraphModule):
                for node in module.graph.nodes:
                    handle = _assign(node, handle, known)
                _assign_to_attributes(module)
        return PassResult(graph_module, True)


def captured_node(node: Node) -> tuple[int, str] | None:
    """The graph and the name of the node that `node` comes from, as far back as its metadata goes. None if it does not
    say."""
    sources = node.meta.get("from_node")
    identity = None
    while sources:
        identity = (sources[-1].graph_id, sources[-1].name)
        sources = sources[-1].from_node
    return identity


def _assign(node: Node, last: int, known: dict[tuple[int, str], int]) -> int:
    """Gives a node its handle. `known` has the handles of captured nodes. Returns the largest handle."""
    if node.op != "call_function":
        return last
    if node.target is operator.getitem and isinstance(node.args[0], Node) and DEBUG_HANDLE_KEY in node.args[0].meta:
        node.meta[DEBUG_HANDLE_KEY] = node.args[0].meta[DEBUG_HANDLE_KEY]
        return last
    captured = captured_node(node)
    handle = last + 1 if captured is None else known.setdefault(captured, last + 1)
    node.meta[DEBUG_HANDLE_KEY] = handle
    return max(handle, last)


def _assign_to_attributes(module: GraphModule) -> None:
    for node in module.graph.find_nodes(op="get_attr"):
        handles = [user.meta[DEBUG_HANDLE_KEY] for user in node.users if DEBUG_HANDLE_KEY in user.meta]
        if handles:
            node.meta[DEBUG_HANDLE_KEY] = handles[0]


def generate_missing_debug_handles(ep: ExportedProgram) -> None:
    """Gives new handles to nodes that a pass added, above the largest one in use."""
    modules = [m for m in ep.graph_module.modules() if isinstance(m, GraphModule)]
    nodes = [n for m in modules for n in m.graph.nodes]
    last = max((n.meta.get(DEBUG_HANDLE_KEY, UNSET_DEBUG_HANDLE) for n in nodes), default=UNSET_DEBUG_HANDLE)
    known = {c: n.meta[DEBUG_HANDLE_KEY] for n in nodes if n.meta.get(DEBUG_HANDLE_KEY) and (c := captured_node(n))}
    for node in nodes:
        if node.meta.get(DEBUG_HANDLE_KEY, UNSET_DEBUG_HANDLE) in (UNSET_DEBUG_HANDLE, None):
            last = _assign(node, last, known)
    for module in modules:
        _assign_to_attributes(module)
