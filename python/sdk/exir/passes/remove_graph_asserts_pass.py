# SPDX-License-Identifier: BSD-3-Clause
"""Removes run-time checks of sizes and values, which programs do not carry out."""

from __future__ import annotations

import torch
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from sdk.exir.dialects.edge._ops import EdgeOpOverload

_ASSERTIONS = frozenset(
    {
        torch.ops.aten._assert_async.msg,
        torch.ops.aten._assert_async.default,
        torch.ops.aten._assert_scalar.default,
        torch.ops.aten._assert_tensor_metadata.default,
        torch.ops.aten.sym_constrain_range.default,
        torch.ops.aten.sym_constrain_range_for_size.default,
    }
)


class RemoveGraphAssertsPass(PassBase):
    """Erases the assertions, and the nodes that only they used."""

    assertions = _ASSERTIONS

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for module in graph_module.modules():
            if not isinstance(module, GraphModule):
                continue
            found = False
            for node in list(module.graph.nodes):
                target = node.target._op if isinstance(node.target, EdgeOpOverload) else node.target
                if node.op == "call_function" and target in self.assertions and not node.users:
                    module.graph.erase_node(node)
                    found = True
            if found:
                module.graph.eliminate_dead_code()
                module.recompile()
                modified = True
        return PassResult(graph_module, modified)


class RemoveNonCoreAtenOpGraphAssertsPass(RemoveGraphAssertsPass):
    """Erases the assertions on the dtypes, devices and layouts of tensors, which are not core operators."""

    assertions = frozenset({torch.ops.aten._assert_tensor_metadata.default})
