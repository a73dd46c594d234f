# SPDX-License-Identifier: BSD-3-Clause
"""Makes every `view_copy` in a chain read the tensor at its start, so that the links between become unused."""

from __future__ import annotations

from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from sdk.exir.error import internal_assert
from sdk.exir.passes.replace_view_copy_with_view_pass import _is_view_copy


class NormalizeViewCopyBasePass(PassBase):
    """`view(view(x, a), b)` becomes `view(x, b)`."""

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for module in graph_module.modules():
            if not isinstance(module, GraphModule):
                continue
            for node in module.graph.nodes:
                if not _is_view_copy(node):
                    continue
                base, size = node.args
                # Nodes are visited in order, so the base of the base is already normalised.
                if _is_view_copy(base):
                    node.args = (base.args[0], size)
                    modified = True
            module.recompile()
        return PassResult(graph_module, modified)

    def ensures(self, graph_module: GraphModule) -> None:
        for module in graph_module.modules():
            if isinstance(module, GraphModule):
                for node in module.graph.nodes:
                    if _is_view_copy(node):
                        internal_assert(
                            not _is_view_copy(node.args[0]), f"the base of {node.name} is still a view_copy"
                        )
