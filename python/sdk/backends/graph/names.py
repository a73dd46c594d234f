# SPDX-License-Identifier: BSD-3-Clause
"""The operators that nodes call, and their arguments, in ATen and in the edge dialect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.fx import Node

from sdk.exir.operator.custom_mutation import bound_arguments


def name_of(node: Any) -> str:
    """The operator that a node calls, such as `aten.add.Tensor`; `getitem` for one of several results. "" for other
    nodes, and for other objects."""
    target = getattr(node, "target", None)
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    return getattr(target, "__name__", "")


def overloads(names: Iterable[str]) -> list[torch._ops.OpOverload]:
    """Returns the operators with these names, such as `aten.add.Tensor`. Skips operators whose library is not imported,
    because no program calls them."""
    found = []
    for name in names:
        namespace, operator, overload = name.split(".")
        packet = getattr(getattr(torch.ops, namespace), operator, None)
        if packet is not None:
            found.append(getattr(packet, overload))
    return found


def arguments_of(node: Node) -> dict[str, Any]:
    """The arguments of a call by their names in the operator's schema, with its defaults."""
    target: Any = node.target
    return bound_arguments(target, node.args, node.kwargs)


def argument(node: Node, position: int) -> Any:
    """The argument of a call at a position of the operator's schema, or its default."""
    if position < len(node.args):
        return node.args[position]
    target: Any = node.target
    schema = target._schema.arguments[position]
    return node.kwargs.get(schema.name, schema.default_value)
