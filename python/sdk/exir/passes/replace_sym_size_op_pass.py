# SPDX-License-Identifier: BSD-3-Clause
"""Replaces `sym_size` of static dimensions by numbers."""

from __future__ import annotations

import torch
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassBase, PassResult


class ReplaceSymSizeOpPass(PassBase):
    """Uses of `sym_size.int` with a known value become that value."""

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for module in graph_module.modules():
            if not isinstance(module, GraphModule):
                continue
            for node in list(module.graph.nodes):
                if node.target is not torch.ops.aten.sym_size.int or not isinstance(node.meta.get("val"), int):
                    continue
                value = node.meta["val"]
                for user in list(node.users):
                    user.args, user.kwargs = torch.fx.node.map_aggregate(
                        (user.args, user.kwargs), lambda a, node=node, value=value: value if a is node else a
                    )
                module.graph.erase_node(node)
                modified = True
            module.recompile()
        return PassResult(graph_module, modified)
