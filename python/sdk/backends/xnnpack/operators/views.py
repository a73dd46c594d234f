# SPDX-License-Identifier: BSD-3-Clause
"""Turns calls that only move elements into views: a step reads their source through strides instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

from sdk.backends.graph.names import argument, name_of
from sdk.backends.xnnpack.operators.operator import is_static

# For each call that moves elements, the same operation on a view.
_VIEWS: dict[str, Callable[[Node, torch.Tensor], torch.Tensor]] = {
    "aten.view_copy.default": lambda node, x: x.view(node.meta["val"].shape),
    "aten.unsqueeze_copy.default": lambda node, x: x.view(node.meta["val"].shape),
    "aten.squeeze_copy.dims": lambda node, x: x.view(node.meta["val"].shape),
    "aten.squeeze_copy.dim": lambda node, x: x.view(node.meta["val"].shape),
    "aten.permute_copy.default": lambda node, x: x.permute(node.args[1]),
    "aten.transpose_copy.int": lambda node, x: x.transpose(node.args[1], node.args[2]),
    "aten.select_copy.int": lambda node, x: x.select(node.args[1], node.args[2]),
    "aten.slice_copy.Tensor": lambda node, x: torch.ops.aten.slice.Tensor(x, *node.args[1:]),
    "aten.clone.default": lambda node, x: x,
    "aten.alias_copy.default": lambda node, x: x,
    "dim_order_ops._clone_dim_order.default": lambda node, x: x,
}


def as_view(operand: Node, accepts: Callable[[Node, torch.Tensor], bool]) -> tuple[Node, torch.Tensor]:
    """Returns the first source of which an operand is a view, if `accepts` agrees with the source and the view, and
    this view, without elements. The last candidate is the operand itself."""
    chain = [operand]
    while (source := _source(chain[-1])) is not None:
        chain.append(source)
    for start in range(len(chain) - 1, -1, -1):
        view = torch.empty(chain[start].meta["val"].shape, device="meta")
        try:
            for node in chain[:start][::-1]:
                view = _view(node, view)
        except RuntimeError:
            continue  # a copy is needed on the way
        if accepts(chain[start], view):
            return chain[start], view
    raise AssertionError("an operand is a view of itself")


def _source(node: Node) -> Node | None:
    """Returns the tensor of which a call returns a view, or None for other calls."""
    if name_of(node) == "getitem":
        return node.args[0].args[0] if name_of(node.args[0]) == "aten.split_with_sizes_copy.default" else None
    if name_of(node) not in _VIEWS or not isinstance(node.args[0], Node):
        return None
    return node.args[0] if is_static(node.args[0].meta["val"].shape) else None


def _view(node: Node, x: torch.Tensor) -> torch.Tensor:
    if name_of(node) == "getitem":
        split: Any = node.args[0]
        return torch.split(x, split.args[1], argument(split, 2))[node.args[1]]
    return _VIEWS[name_of(node)](node, x)
