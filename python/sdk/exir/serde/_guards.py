# SPDX-License-Identifier: BSD-3-Clause
"""Conditions on inputs, such as `L['x'].size()[0] <= 8`, which torch keeps as Python source and runs."""

from __future__ import annotations

import ast

from sdk.exir.error import ExportError, ExportErrorType

_LONGEST = 4096
_LARGEST = 1 << 64
"""Limit of an integer, so that arithmetic on sizes stays small."""
_NODES = (
    *(ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd, ast.Compare, ast.BinOp),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Load, ast.Constant, ast.IfExp),
)
_METHODS = ("size", "stride", "storage_offset", "dim", "item")
_FUNCTIONS = ("max", "min", "abs", "int", "float", "bool", "round", "len", "IsNonOverlappingAndDenseIndicator")
_MATH = ("floor", "ceil", "trunc", "sqrt", "isnan", "inf")


def check_guards(guards: list[str], *, of_texts: bool = False) -> list[str]:
    """Returns `guards` if each only compares sizes and values of inputs. Raises ExportError otherwise. `of_texts` says
    that an input may be a string, which arithmetic would repeat or format."""
    for guard in guards:
        try:
            # torch puts the text between double quotes, too.
            if len(guard) > _LONGEST or not guard.isprintable() or any(sign in guard for sign in '"\\{}'):
                raise ValueError("it is long, or has quotes, backslashes or braces")
            _check(ast.parse(guard, mode="eval"), of_texts)
        except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
            raise ExportError(
                ExportErrorType.NOT_SUPPORTED,
                f"the program has the condition {guard[:120]!r}, which is not a comparison of sizes and inputs: "
                f"{error}. Export the model again",
            ) from error
    return guards


def _check(node: ast.AST, of_texts: bool) -> None:
    if isinstance(node, ast.Name):
        if node.id not in ("L", "inf", *_FUNCTIONS):
            raise ValueError(f"{node.id} is not known")
        return
    if isinstance(node, ast.Attribute):
        if not (isinstance(node.value, ast.Name) and node.value.id == "math" and node.attr in _MATH):
            raise ValueError(f"{node.attr} is not known")
        return
    if isinstance(node, ast.Constant):
        _check_number(node.value)
        return
    if isinstance(node, ast.Call):
        children = _parts_of_call(node)
    elif isinstance(node, ast.Subscript):
        if not isinstance(node.slice, (ast.Constant, ast.UnaryOp)):
            raise ValueError("an index is neither a number nor a name")
        children = [node.value, *([] if _is_text(node.slice) else [node.slice])]
    elif isinstance(node, ast.Compare):
        children = [part for part in (node.left, *node.comparators) if not _is_text(part)]
        children += node.ops
    elif isinstance(node, _NODES):
        children = list(ast.iter_child_nodes(node))
        if of_texts and isinstance(node, ast.BinOp) and any(map(_may_be_text, children)):
            raise ValueError("it computes with an input that may be a text")
    else:
        raise ValueError(f"{type(node).__name__} is not known")
    for child in children:
        _check(child, of_texts)


def _may_be_text(node: ast.AST) -> bool:
    """Whether the value may be an input itself."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("max", "min")
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, (ast.Name, ast.IfExp, ast.BoolOp))  # a call returns a size, not an input


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is str


def _check_number(value: object) -> None:
    if value is not None and not isinstance(value, (bool, int, float)):
        raise ValueError(f"{type(value).__name__} is not a number")
    if isinstance(value, int) and value > _LARGEST:
        raise ValueError("a number is larger than a size")


def _parts_of_call(node: ast.Call) -> list[ast.AST]:
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr in _METHODS:
        function = function.value
    elif not isinstance(function, ast.Attribute) and not (isinstance(function, ast.Name) and function.id in _FUNCTIONS):
        raise ValueError("a call is of an unknown function")
    if node.keywords:
        raise ValueError("a call has keywords")
    if isinstance(function, ast.Name) and function.id == "round" and len(node.args) != 1:
        raise ValueError("it rounds to a number of digits")  # a large negative number would be a huge power of ten
    return [function, *node.args]
