# SPDX-License-Identifier: BSD-3-Clause
"""Computes missing `meta["val"]` of nodes; PyTorch's subgraph rewriter, for example, sets no metadata."""

from __future__ import annotations

from typing import Any

import torch
from torch._guards import detect_fake_mode
from torch.fx import GraphModule, Node


def fill_missing_values(graph_module: GraphModule) -> None:
    """Sets `meta["val"]` of calls without it, from their arguments' values. Calls whose arguments lack values too,
    delegate calls and control flow are left unchanged."""
    mode: Any = None
    for module in graph_module.modules():
        if not isinstance(module, GraphModule):
            continue
        for node in module.graph.nodes:
            if node.op != "call_function" or "val" in node.meta or _is_higher_order(node):
                continue
            if any("val" not in source.meta for source in node.all_input_nodes):
                continue
            args, kwargs = torch.fx.node.map_aggregate(
                (node.args, node.kwargs), lambda a: a.meta["val"] if isinstance(a, Node) else a
            )
            mode = mode or detect_fake_mode([n.meta.get("val") for n in module.graph.nodes])
            if mode is None:
                return
            with mode, torch.no_grad():
                node.meta["val"] = node.target(*args, **kwargs)


def _is_higher_order(node: Node) -> bool:
    return isinstance(node.target, torch._ops.HigherOrderOperator)
