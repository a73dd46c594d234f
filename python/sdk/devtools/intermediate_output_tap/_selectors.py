# SPDX-License-Identifier: BSD-3-Clause
"""Selectors decide which nodes of a graph are tapped. They are functions from a node to bool."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

from torch.fx import Node

NodeSelector = Callable[[Node], bool]


def modules_of(node: Node) -> dict[str, tuple[str, str]]:
    """The modules around a node from outside to inside: by an id of the call, the path and the name of the class."""
    found: dict[str, tuple[str, str]] = {}
    for call, (path, kind) in (node.meta.get("nn_module_stack") or {}).items():
        name = kind if isinstance(kind, str) else kind.__name__
        found[call] = (path, name.rpartition(".")[2])
    return found


def select_all_call_function(exclude: tuple[str, ...] = ("getitem",)) -> NodeSelector:
    """Selects every call except those of these functions or operators."""

    def selected(node: Node) -> bool:
        names = (getattr(node.target, "__name__", ""), str(node.target))
        return node.op == "call_function" and not any(name in exclude for name in names)

    return selected


def select_by_op_type(*op_targets: str) -> NodeSelector:
    """Selects calls of operators whose name ends with one of `op_targets`, such as `linear.default`. Raises ValueError
    without any name."""
    _need(op_targets, "name of an operator")
    return lambda node: node.op == "call_function" and str(node.target).endswith(op_targets)


def select_by_module_path(*patterns: str, output_only: bool = True) -> NodeSelector:
    """Selects values computed by modules whose path matches a pattern, such as `layers.*.attention`; `*` also matches
    dots.

    `output_only`: select only the outputs of the module. Raises ValueError without any pattern.
    """
    _need(patterns, "pattern")
    return _in_modules(lambda path, _: any(fnmatchcase(path, pattern) for pattern in patterns), output_only)


def select_by_module_class(*class_names: str, output_only: bool = True) -> NodeSelector:
    """Selects values computed by modules of these classes, such as `Linear`. `output_only`: select only the outputs of
    the module.

    Raises ValueError without any name.
    """
    _need(class_names, "name of a class")
    return _in_modules(lambda _, name: name in class_names, output_only)


def select_any(*selectors: NodeSelector) -> NodeSelector:
    """Selects nodes that at least one of the selectors selects."""
    return lambda node: any(selector(node) for selector in selectors)


def select_all(*selectors: NodeSelector) -> NodeSelector:
    """Selects nodes that all selectors select."""
    return lambda node: all(selector(node) for selector in selectors)


def select_not(selector: NodeSelector) -> NodeSelector:
    """Selects nodes that the selector does not select."""
    return lambda node: not selector(node)


def _need(names: tuple[Any, ...], what: str) -> None:
    if not names:
        raise ValueError(f"expected at least one {what}, found none")


def _in_modules(matches: Callable[[str, str], bool], output_only: bool) -> NodeSelector:
    def inside(node: Node) -> set[str]:
        return {call for call, (path, name) in modules_of(node).items() if matches(path, name)}

    def selected(node: Node) -> bool:
        modules = inside(node)
        if not modules or not output_only:
            return bool(modules)
        return not any(modules & modules_of(user).keys() for user in node.users)

    return selected
