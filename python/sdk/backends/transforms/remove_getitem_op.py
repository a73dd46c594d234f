# SPDX-License-Identifier: BSD-3-Clause
"""`RemoveGetItemPass`: replaces calls whose indices nothing reads by operators that return only the values."""

from __future__ import annotations

import operator

from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass

_aten = exir_ops.edge.aten
# The operator that returns (values, indices), and the one that returns values.
_VALUES_ONLY = {
    _aten.max_pool2d_with_indices.default: _aten.max_pool2d.default,
    _aten.max.dim: _aten.amax.default,
    _aten.min.dim: _aten.amin.default,
}


class RemoveGetItemPass(ExportPass):
    """`max_pool2d_with_indices`, `max.dim` and `min.dim` whose indices nothing reads become `max_pool2d`, `amax` and
    `amin`: an operator with one result."""

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for node in list(graph_module.graph.nodes):
            target = _VALUES_ONLY.get(node.target) if node.op == "call_function" else None
            users = list(node.users)
            if target is None or any(user.target is not operator.getitem or user.args[1] != 0 for user in users):
                continue
            with graph_module.graph.inserting_before(node):
                new = graph_module.graph.call_function(target, node.args, node.kwargs)
            new.meta = {**node.meta, "val": node.meta["val"][0]}
            for user in users:
                user.replace_all_uses_with(new)
                graph_module.graph.erase_node(user)
            graph_module.graph.erase_node(node)
            modified = True
        if modified:
            graph_module.recompile()
        return PassResult(graph_module, modified)
