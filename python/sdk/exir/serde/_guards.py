# SPDX-License-Identifier: BSD-3-Clause
"""Conditions on inputs, such as `L['x'].size()[0] <= 8`, which torch keeps as Python source and runs."""

from __future__ import annotations

import ast

from sdk.exir.error import ExportError, ExportErrorType

_LONGEST = 4096
_NODES = (
    *(ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd, ast.Compare, ast.BinOp),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Load, ast.Constant, ast.IfExp),
)
_METHODS = ("size", "stride", "storage_offset", "dim", "item")
_FUNCTIONS = ("max", "min", "abs", "int", "float", "bool", "round", "len", "IsNonOverlappingAndDenseIndicator")
_MATH = ("floor", "ceil", "trunc", "sqrt", "isnan", "inf")


def check_guards(guards: list[str]) -> list[str]:
    """`guards`, if each compares sizes and values of inputs and does nothing else. Raises ExportError otherwise."""
    for guard in guards:
        try:
            # torch puts the text between double quotes, too.
            if len(guard) > _LONGEST or not guard.isprintable() or any(sign in guard for sign in '"\\{}'):
                raise ValueError("it is long, or has quotes, backslashes or braces")
            _check(ast.parse(guard, mode="eval"))
        except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
            raise ExportError(
                ExportErrorType.NOT_SUPPORTED,
                f"the program has the condition {guard[:120]!r}, which is no comparison of sizes and inputs: {error}. "
                "Export the model again",
            ) from error
    return guards


def _check(node: ast.AST) -> None:
    if isinstance(node, ast.Name):
        if node.id not in ("L", "inf", *_FUNCTIONS):
            raise ValueError(f"{node.id} is not known")
        return
    if isinstance(node, ast.Attribute):
        if not (isinstance(node.value, ast.Name) and node.value.id == "math" and node.attr in _MATH):
            raise ValueError(f"{node.attr} is not known")
        return
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in _METHODS:
            function = function.value
        elif not isinstance(function, ast.Attribute) and not (
            isinstance(function, ast.Name) and function.id in _FUNCTIONS
        ):
            raise ValueError("a call is of no function that is known")
        if node.keywords:
            raise ValueError("a call has keywords")
        children: list[ast.AST] = [function, *node.args]
    elif isinstance(node, ast.Subscript):
        if not isinstance(node.slice, (ast.Constant, ast.UnaryOp)):
            raise ValueError("an index is no number and no name")
        children = [node.value, node.slice]
    elif isinstance(node, _NODES):
        children = list(ast.iter_child_nodes(node))
    else:
        raise ValueError(f"{type(node).__name__} is not known")
    for child in children:
        _check(child)
