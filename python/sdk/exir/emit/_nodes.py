# SPDX-License-Identifier: BSD-3-Clause
"""Reads arguments, results and names from one node for the emitter, and reports nodes that programs cannot express."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch.fx import Node

from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.schema import Bool, Double, ExtraTensorInfo, Int, Tensor


def node_error(node: Node, problem: str, code: ExportErrorType = ExportErrorType.NOT_SUPPORTED) -> ExportError:
    """An error with the place in the model's source that the node comes from."""
    trace = node.meta.get("stack_trace")
    return ExportError(code, f"node {node.name} ({node.target}): {problem}" + (f"\n{trace}" if trace else ""))


def arguments_of(node: Node, schema: torch._C.FunctionSchema) -> Iterator[tuple[Any, Any]]:
    """The arguments of an operator's schema with the values that a node gives them, or their default values."""
    for position, argument in enumerate(schema.arguments):
        if position < len(node.args) and not argument.kwarg_only:
            yield argument, node.args[position]
        elif argument.name in node.kwargs:
            yield argument, node.kwargs[argument.name]
        elif argument.has_default_value():
            yield argument, argument.default_value
        else:
            raise node_error(node, f"has no argument {argument.name!r}", ExportErrorType.VIOLATION_OF_SPEC)


def scalar_result(node: Node, value: Any) -> Bool | Int | Double:
    """The program's value for a result that is a number, with the number's type."""
    if isinstance(value, (bool, torch.SymBool)):
        return Bool(False)
    if isinstance(value, (int, torch.SymInt)):
        return Int(0)
    if isinstance(value, (float, torch.SymFloat)):
        return Double(0.0)
    raise node_error(node, f"returns a {type(value).__name__}; expected a tensor or a number")


def scalar_input(node: Node, value: torch.SymBool | torch.SymInt | torch.SymFloat) -> Bool | Int | Double:
    """The program's value for a number that the caller gives: the example's if it is known. Lists of sizes accept
    nothing else than an Int."""
    result = scalar_result(node, value)
    known = value.node.hint if value.node.has_hint() else None
    return result if known is None else type(result)(known)


def set_name(tensor: Tensor, name: str) -> None:
    """Gives a tensor the name of its weight or buffer."""
    tensor.extra_tensor_info = replace(tensor.extra_tensor_info or ExtraTensorInfo(), fully_qualified_name=name)
