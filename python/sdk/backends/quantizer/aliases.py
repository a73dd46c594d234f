# SPDX-License-Identifier: BSD-3-Clause
"""Which nodes of a captured graph are views of others, and which tensors the graph writes to."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import torch
from torch.fx import Node
from torch.utils._pytree import tree_leaves


def is_view(node: Node) -> bool:
    """Whether the result of a call is a view of its operand."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return False
    return not target._schema.is_mutable and any(result.alias_info for result in target._schema.returns)


def is_written(node: Node) -> bool:
    """Whether an operator writes to a tensor or to a view of it. All readers of a buffer see the same tensor."""
    readers = node.graph.find_nodes(op="get_attr", target=node.target) if node.op == "get_attr" else [node]
    for user in (user for reader in readers for user in reader.users):
        # A view that returns a list is read with getitem.
        written = any(operand in readers for operand in written_operands(user))
        if written or ((is_view(user) or user.target is operator.getitem) and is_written(user)):
            return True
    return False


def written_operands(call: Node) -> Iterable[Any]:
    """Yields the operands that a call writes to."""
    target = call.target
    if not isinstance(target, torch._ops.OpOverload) or not target._schema.is_mutable:
        return
    for position, argument in enumerate(target._schema.arguments):
        given = call.args[position] if position < len(call.args) else call.kwargs.get(argument.name)
        if argument.is_write:
            yield from tree_leaves(given)


def functional_form(target: Any) -> Any:
    """The operator that returns what an operator writes to its operand; None without such an operator."""
    if not isinstance(target, torch._ops.OpOverload) or target.namespace != "aten" or not target._schema.is_mutable:
        return None
    name = target._opname
    packet = getattr(torch.ops.aten, name.removesuffix("_"), None) if name.endswith("_") else None
    return getattr(packet, target._overloadname, None)
