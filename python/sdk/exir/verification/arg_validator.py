# SPDX-License-Identifier: BSD-3-Clause
"""Checks the arguments of every call of a graph against what its edge operator accepts: tensors, of certain dtypes."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from sdk.exir.dialects.edge._ops import EdgeOpOverload
from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.verification.interpreter import Interpreter

Dtypes = dict[str, "torch.dtype | None"]
"""Dtypes of a call by argument name; results are `__ret_0`, `__ret_1`, ..., and an absent argument is None."""


class EdgeOpArgValidator(Interpreter):
    """After `check()` (or `run`), `violating_ops` maps each operator that is called with dtypes that it does not accept
    to the dtypes and the node of the first such call."""

    def __init__(self, graph_module: GraphModule) -> None:
        super().__init__(graph_module)
        self.violating_ops: dict[EdgeOpOverload, tuple[Dtypes, Node]] = {}

    def run_node(self, n: Node) -> Any:
        return super().run_node(n)

    def call_function(self, target: Any, args: tuple, kwargs: dict) -> Any:
        if isinstance(target, EdgeOpOverload) and target not in self.violating_ops:
            dtypes = rejected_dtypes(target, args, kwargs, self.node.meta.get("val"))
            if dtypes is not None:
                self.violating_ops[target] = (dtypes, self.node)
        return None

    def raise_if_violated(self) -> None:
        """Raises `ExportError` that names each operator, the dtypes it was called with, and those that it accepts."""
        if self.violating_ops:
            lines = [describe(op, dtypes) for op, (dtypes, _) in self.violating_ops.items()]
            raise ExportError(ExportErrorType.VIOLATION_OF_SPEC, "\n".join(lines))


def rejected_dtypes(op: EdgeOpOverload, args: tuple, kwargs: dict[str, Any], results: Any) -> Dtypes | None:
    """The dtypes of a call, given the values of its arguments and results, if the operator does not accept them."""
    constraint = op._schema.dtype_constraint
    if constraint is None:
        return None
    names = constraint.essential_tensor_io_names | constraint.optional_tensor_io_names
    values: dict[str, Any] = {
        a.name: args[i] if i < len(args) and not a.kwarg_only else kwargs.get(a.name)
        for i, a in enumerate(op._schema.arguments)
        if a.name in names
    }
    found = results if isinstance(results, tuple) else (results,)
    values |= {f"__ret_{i}": value for i, value in enumerate(found) if f"__ret_{i}" in names}
    dtypes = {name: _dtype(value) for name, value in values.items()}
    if any(value is None and name.startswith("__ret_") for name, value in dtypes.items()):
        return None  # A pass did not record the results.
    return None if constraint.validate(dtypes) else dtypes


def scalar_in_place_of_tensor(op: EdgeOpOverload, args: tuple) -> str | None:
    """The name of the first argument that must be a tensor and is a number."""
    for argument, value in zip(op._op._schema.arguments, args, strict=False):
        if isinstance(value, (bool, int, float, torch.SymInt, torch.SymFloat, torch.SymBool)):
            kind = argument.type
            if kind.kind() == "OptionalType":
                kind = kind.getElementType()
            if kind.kind() == "TensorType":
                return str(argument.name)
    return None


def describe(op: EdgeOpOverload, dtypes: Dtypes) -> str:
    """A message with the dtypes that were found and the accepted ones."""
    arguments = {name: dtype for name, dtype in dtypes.items() if not name.startswith("__ret_")}
    results = [str(dtype) for name, dtype in dtypes.items() if name not in arguments]
    call = ", ".join(f"{name}: {dtype}" for name, dtype in arguments.items() if dtype is not None)
    text = f"{op.__name__}({call}) -> {', '.join(results)} is not a combination of dtypes that edge dialect has."
    constraint = op._schema.dtype_constraint
    assert constraint is not None  # An operator without constraints is never rejected.
    for name, dtype in arguments.items():
        allowed = constraint[name]
        if dtype is not None and dtype not in allowed:
            return f"{text} `{name}` can be {', '.join(sorted(map(str, allowed)))}."
    return f"{text} Each dtype is accepted, but not together: cast some of them with .to(dtype)."


def _dtype(value: Any) -> torch.dtype | None:
    if isinstance(value, (list, tuple)):
        value = next((v for v in value if isinstance(v, torch.Tensor)), None)
    return value.dtype if isinstance(value, torch.Tensor) else None
