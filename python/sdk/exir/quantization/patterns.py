# SPDX-License-Identifier: BSD-3-Clause
"""Patterns of quantised operators, as graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import GraphModule

from sdk.exir.dialects.edge._ops import to_edge_op


def _trace_and_lower_to_edge_ops(function: Callable[..., Any]) -> GraphModule:
    """The graph of a function of tensors, with edge operators: a pattern or a replacement for PyTorch's subgraph
    rewriter."""
    module = torch.fx.symbolic_trace(function)
    for node in module.graph.nodes:
        if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload):
            node.target = to_edge_op(node.target)
    module.recompile()
    return module
