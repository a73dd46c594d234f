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
    """Gives every operator a handle from 1 on, branches included. Elements of a result have the handle of the
    operator."""

    def call(self, graph_module: GraphModule) -> PassResult:
        handle = UNSET_DEBUG_HANDLE
        for module in graph_module.modules():
            if isinstance(module, GraphModule):
                for node in module.graph.nodes:
                    handle = _assign(node, handle)
        return PassResult(graph_module, True)


def _assign(node: Node, last: int) -> int:
    if node.op != "call_function":
        return last
    if node.target is operator.getitem and isinstance(node.args[0], Node) and DEBUG_HANDLE_KEY in node.args[0].meta:
        node.meta[DEBUG_HANDLE_KEY] = node.args[0].meta[DEBUG_HANDLE_KEY]
        return last
    node.meta[DEBUG_HANDLE_KEY] = last + 1
    return last + 1


def generate_missing_debug_handles(ep: ExportedProgram) -> None:
    """Gives new handles to nodes that a pass added, above the largest one in use."""
    modules = [m for m in ep.graph_module.modules() if isinstance(m, GraphModule)]
    nodes = [n for m in modules for n in m.graph.nodes]
    last = max((n.meta.get(DEBUG_HANDLE_KEY, UNSET_DEBUG_HANDLE) for n in nodes), default=UNSET_DEBUG_HANDLE)
    for node in nodes:
        if node.meta.get(DEBUG_HANDLE_KEY, UNSET_DEBUG_HANDLE) in (UNSET_DEBUG_HANDLE, None):
            last = _assign(node, last)
