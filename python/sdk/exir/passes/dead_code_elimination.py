# SPDX-License-Identifier: BSD-3-Clause
"""Removes nodes whose results nothing uses."""

from __future__ import annotations

from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult


def dead_code_elimination_pass(graph_module: GraphModule) -> PassResult:
    """Edits the graph and its branches in place."""
    modified = False
    for module in graph_module.modules():
        if isinstance(module, GraphModule):
            modified = bool(module.graph.eliminate_dead_code()) or modified
            module.recompile()
    return PassResult(graph_module, modified)
