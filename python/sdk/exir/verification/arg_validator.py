# SPDX-License-Identifier: BSD-3-Clause
"""Checks the dtypes of every call of a graph against what its edge operator accepts."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import torch
from torch.fx import GraphModule, Node

from sdk.exir.dialects.edge._ops import EdgeOpOverload
from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.verification.interpreter import Interpreter


class EdgeOpArgValidator(Interpreter):
    """After `check()` (or `run`), `violating_ops` maps each operator that was called with dtypes that it does not
    accept to these dtypes, by argument name, once for each combination."""

    def __init__(self, graph_module: GraphModule) -> None:
        super().__init__(graph_module)
        self.violating_ops: dict[EdgeOpOverload, set[tuple[tuple[str, torch.dtype], ...]]] = defaultdict(set)

    def run_node(self, n: Node) -> None:
        super().run_node(n)

    def call_function(self, target: Any, args: tuple, kwargs: dict) -> Any:
        if not isinstance(target, EdgeOpOverload):
            return None
        constraint = target._schema.dtype_constraint
        if constraint is None:
            return None
        types: dict[str, torch.dtype | None] = {}
        for i, argument in enumerate(target._schema.arguments):
            value = args[i] if i < len(args) and not argument.kwarg_only else kwargs.get(argument.name)
            if isinstance(value, (list, tuple)) and value and isinstance(value[0], torch.Tensor):
                value = value[0]
            if isinstance(value, torch.Tensor):
                types[argument.name] = value.dtype
        results = self.node.meta.get("val")
        for i, result in enumerate(results if isinstance(results, (list, tuple)) else (results,)):
            name = f"__ret_{i}"
            if isinstance(result, torch.Tensor) and name in constraint.essential_tensor_io_names:
                types[name] = result.dtype
        known = constraint.essential_tensor_io_names | constraint.optional_tensor_io_names
        if not constraint.validate({name: dtype for name, dtype in types.items() if name in known}):
            self.violating_ops[target].add(tuple((name, dtype) for name, dtype in types.items() if dtype is not None))
        return None

    def raise_if_violated(self) -> None:
        """Raises `ExportError` that names each operator and the dtypes it was called with."""
        if self.violating_ops:
            lines = [
                f"  {op.__name__}({', '.join(f'{name}: {dtype}' for name, dtype in types)})"
                for op, found in self.violating_ops.items()
                for types in sorted(found, key=str)
            ]
            raise ExportError(
                ExportErrorType.VIOLATION_OF_SPEC,
                "operators are called with dtypes that edge dialect does not accept:\n" + "\n".join(lines),
            )
