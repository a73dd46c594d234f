# SPDX-License-Identifier: BSD-3-Clause
"""Tells which modules of the model computed the nodes of a captured graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.fx import Node

Filter = Callable[[Node], bool]


def type_filter(kind: Callable[..., Any]) -> Filter:
    """Whether a node was computed in a module of a class."""

    def accepts(node: Node) -> bool:
        for _, found in (node.meta.get("nn_module_stack") or {}).values():
            # A program that was saved has names in place of classes.
            if found is kind or found == f"{kind.__module__}.{kind.__qualname__}":
                return True
        return False

    return accepts


def both(first: Filter, second: Filter) -> Filter:
    """Whether both filters accept a node."""
    return lambda node: first(node) and second(node)


def negated(accepts: Filter) -> Filter:
    """Whether a filter does not accept a node."""
    return lambda node: not accepts(node)
