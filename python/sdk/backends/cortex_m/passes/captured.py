# SPDX-License-Identifier: BSD-3-Clause
"""Changing captured models, whose graphs also call guards."""

from __future__ import annotations

from typing import Any

from torch.fx import Node
from torch.fx.node import map_arg


def insert_call(before: Node, target: Any, *args: Any) -> Node:
    """Adds a call before a node, with the node's module and line of code."""
    with before.graph.inserting_before(before):
        node = before.graph.call_function(target, args)
    node.meta = dict(before.meta)
    node.meta["val"] = target(*map_arg(args, lambda operand: operand.meta["val"]))
    return node
