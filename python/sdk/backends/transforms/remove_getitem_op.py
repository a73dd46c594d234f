# SPDX-License-Identifier: BSD-3-Clause
"""`RemoveGetItemPass`: replaces operators that return values and indices by operators that return only values, if the
indices are not read."""

from __future__ import annotations

import operator

from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass

_aten = exir_ops.edge.aten
# Maps the operator that returns (values, indices) to the one that returns only values.
_VALUES_ONLY = {
    _aten.max_pool2d_with_indices.default: _aten.max_pool2d.default,
    _aten.max.dim: _aten.amax.default,
    _aten.min.dim: _aten.amin.default,
}


class RemoveGetItemPass(ExportPass):
    """Replaces `max_pool2d_with_indices`, `max.dim` and `min.dim` whose indices are not read by `max_pool2d`, `amax`
    and `amin`, which have one result."""

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
