# SPDX-License-Identifier: BSD-3-Clause
"""Registers `executorch_prim`: arithmetic on scalars that the runtime carries out between kernel calls.

Sizes of dynamic tensors are computed by a program itself. In exported graphs that arithmetic appears as Python
operators on symbolic integers; `PYTHON_SYM_OPS` maps each to the runtime's operator.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable

import torch

_BINARY = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "truediv": operator.truediv,
    "mod": operator.mod,
    "sym_max": torch.sym_max,
    "sym_min": torch.sym_min,
}
_COMPARISON = {"eq": operator.eq, "gt": operator.gt, "lt": operator.lt, "ge": operator.ge, "le": operator.le}
_UNARY = {
    "neg": operator.neg,
    "ceil": math.ceil,
    "round": builtins.round,
    "trunc": math.trunc,
    "sym_float": torch.sym_float,
    "sym_int": torch.sym_int,
    "sym_not": torch.sym_not,
}


def _register() -> torch.library.Library | None:
    if hasattr(torch.ops.executorch_prim, "add"):
        return None  # The original's package, imported in the same process, defines the same operators.
    library = torch.library.Library("executorch_prim", "DEF")
    schemas = (
        [(name, "Scalar a, Scalar b", "Scalar", function) for name, function in _BINARY.items()]
        + [(name, "Scalar a, Scalar b", "bool", function) for name, function in _COMPARISON.items()]
        + [(name, "Scalar a", "Scalar", function) for name, function in _UNARY.items()]
        + [("sym_ite", "bool a, Scalar b, Scalar c", "Scalar", torch.sym_ite)]
    )
    for name, arguments, result, function in schemas:
        library.define(f"{name}.Scalar({arguments}) -> {result}")
        library.impl(f"{name}.Scalar", function, "CompositeExplicitAutograd")
    return library


lib = _register()

_scalar_ops = torch.ops.executorch_prim

PYTHON_SYM_OPS: dict[Callable, torch._ops.OpOverload] = {
    **{
        function: getattr(_scalar_ops, name).Scalar
        for table in (_BINARY, _COMPARISON, _UNARY)
        for name, function in table.items()
    },
    torch.sym_ite: _scalar_ops.sym_ite.Scalar,
    operator.not_: _scalar_ops.sym_not.Scalar,
}
"""Python operators on symbolic numbers and the runtime's operator for each."""
