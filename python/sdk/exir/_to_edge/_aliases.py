# SPDX-License-Identifier: BSD-3-Clause
"""Finds results that share memory with an operand in eager mode when the program was captured."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from sdk.exir.operator.aten_rules import IDENTITY_OPS, aten

_VIEWS_OR_COPIES = (aten.reshape.default, aten.reshape_as.default, aten.flatten.using_ints)


def copies(node: Node, op: torch._ops.OpOverload) -> bool:
    """Whether a call such as `reshape`, which returns its operand or a view of it if the strides allow that, copied it
    in eager mode. In the edge dialect every operand is dense, so the call itself does not tell."""
    if op is not aten.contiguous.default and op not in _VIEWS_OR_COPIES:
        return False
    val, result = node.args[0].meta.get("val"), node.meta.get("val")
    if not isinstance(val, torch.Tensor) or not isinstance(result, torch.Tensor):  # attributes in a branch have none
        return False
    if op is aten.contiguous.default:
        return [_expression(n) for n in val.stride()] != [_expression(n) for n in result.stride()]
    if not all(isinstance(n, int) for n in (*val.shape, *val.stride(), *result.shape)):
        return False
    try:
        torch.empty_strided(val.shape, val.stride(), dtype=val.dtype, device="meta").view(result.shape)
    except RuntimeError:
        return True
    return False


def writes(node: Node) -> bool:
    """Whether a call writes to an argument."""
    op = node.target
    return isinstance(op, torch._ops.OpOverload) and op._schema.is_mutable and op not in IDENTITY_OPS


def returns_argument(node: Node) -> bool:
    """Whether a call is a dropout that drops nothing: in eager its result is the argument, and no copy."""
    return node.target is aten.dropout.default and (node.args[1] == 0 or not node.args[2])


def _expression(number: Any) -> Any:
    return number.node.expr if isinstance(number, torch.SymInt) else number
