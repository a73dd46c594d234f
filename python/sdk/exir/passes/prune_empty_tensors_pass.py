# SPDX-License-Identifier: BSD-3-Clause
"""Removes tensors without elements from concatenations."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass

_FULL = {ops.aten.cat.default: ops.aten.full.default for ops in (torch.ops, exir_ops.edge)}
"""The operator `full` of each dialect, by the dialect's `cat`."""


class PruneEmptyTensorsPass(ExportPass):
    """`cat([x, empty])` becomes `cat([x])`; a `cat` of nothing but empty tensors becomes one `full` of its sizes. For
    graphs in ATen and in edge dialect."""

    def remove_empty_tensors_from_cat(self, graph_module: GraphModule, cat_node: Node) -> None:
        """Edits one node."""
        kept = [a for a in cat_node.args[0] if not _is_empty(a)]
        if kept:
            cat_node.args = (kept, *cat_node.args[1:])
            return
        val = cat_node.meta["val"]
        with graph_module.graph.inserting_after(cat_node):
            full = graph_module.graph.call_function(_FULL[cat_node.target], (list(val.shape), 0), {"dtype": val.dtype})
        full.meta = dict(cat_node.meta)
        cat_node.replace_all_uses_with(full)

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for node in list(graph_module.graph.nodes):
            if node.target in _FULL and any(_is_empty(a) for a in node.args[0]):
                self.remove_empty_tensors_from_cat(graph_module, node)
                modified = True
        graph_module.graph.eliminate_dead_code()
        graph_module.recompile()
        return PassResult(graph_module, modified)


def _is_empty(node: Node) -> bool:
    val = node.meta.get("val")
    return isinstance(val, torch.Tensor) and any(isinstance(s, int) and s == 0 for s in val.shape)
