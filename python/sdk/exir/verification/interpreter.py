# SPDX-License-Identifier: BSD-3-Clause
"""Interprets a graph on the values that its metadata records, without computing anything."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node


class Interpreter(torch.fx.Interpreter):
    """Visits each node with the recorded values of its arguments; override `call_function` to check calls.

    The result of a node is its recorded value, whatever `call_function` returns.
    """

    def __init__(self, graph_module: GraphModule) -> None:
        super().__init__(graph_module)

    def check(self) -> None:
        """Visits every node."""
        for node in self.module.graph.nodes:
            self.run_node(node)

    def run_node(self, n: Node) -> Any:
        if n.op == "call_function":
            args, kwargs = torch.fx.node.map_aggregate(
                (n.args, n.kwargs), lambda a: a.meta.get("val") if isinstance(a, Node) else a
            )
            self.node = n
            self.call_function(n.target, args, kwargs)
        return n.meta.get("val")

    def call_function(self, target: Any, args: tuple, kwargs: dict) -> Any:
        return None
