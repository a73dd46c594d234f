# SPDX-License-Identifier: BSD-3-Clause
"""Common subexpression elimination."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir.dialects.edge._ops import EdgeOpOverload
from sdk.exir.pass_base import ExportPass

_RANDOM = ("rand", "dropout", "bernoulli", "multinomial", "normal", "exponential")


class CSEPass(ExportPass):
    """Computes equal calls once. Calls of random operators, and results that are outputs, stay."""

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for module in graph_module.modules():
            if isinstance(module, GraphModule):
                modified = _deduplicate(module) or modified
                module.recompile()
        return PassResult(graph_module, modified)


def _deduplicate(module: GraphModule) -> bool:
    seen: dict[object, Node] = {}
    modified = False
    for node in list(module.graph.nodes):
        if node.op != "call_function" or not _is_pure(node):
            continue
        key = (node.target, repr(node.args), repr(sorted(node.kwargs.items())))
        first = seen.setdefault(key, node)
        if first is not node and not any(user.op == "output" for user in (*node.users, *first.users)):
            node.replace_all_uses_with(first)
            module.graph.erase_node(node)
            modified = True
    return modified


def _is_pure(node: Node) -> bool:
    if not isinstance(node.target, (EdgeOpOverload, torch._ops.OpOverload)):
        return getattr(node.target, "__module__", "") == "_operator"
    if torch.Tag.nondeterministic_seeded in node.target.tags or any(r in node.target.name() for r in _RANDOM):
        return False
    return not node.target._schema.is_mutable
