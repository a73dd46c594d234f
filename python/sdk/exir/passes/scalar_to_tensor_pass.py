# SPDX-License-Identifier: BSD-3-Clause
"""Turns numbers that an operator takes as tensors into tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir.dialects.edge._ops import EdgeOpOverload
from sdk.exir.pass_base import ExportPass, NodeMetadata, ProxyValue


class ScalarToTensorPass(ExportPass):
    """`add.Tensor(x, 1.5)` becomes `add.Tensor(x, constant)`. `to_edge` does this already; use it after passes
    that add numbers."""

    def __init__(self) -> None:
        super().__init__()
        self._found = False

    def call_operator(self, op: Any, args: tuple, kwargs: dict[str, Any], meta: NodeMetadata) -> ProxyValue:
        schema = op._op._schema if isinstance(op, EdgeOpOverload) else getattr(op, "_schema", None)
        if schema is None:
            return super().call_operator(op, args, kwargs, meta)
        # A float32 number would be rounded among float64 tensors.
        is_double = any(isinstance(value, ProxyValue) and _is_double(value) for value in args)
        new_args = tuple(
            self._tensor(value, is_double)
            if isinstance(value, (int, float, bool)) and _takes_tensor(parameter)
            else value
            for value, parameter in zip(args, schema.arguments, strict=False)
        )
        return super().call_operator(op, new_args, kwargs, meta)

    def _tensor(self, value: float, is_double: bool) -> torch.Tensor:
        self._found = True
        return torch.tensor(value, dtype=torch.float64 if is_double and isinstance(value, float) else None)

    def call(self, graph_module: GraphModule) -> PassResult:
        self._found = False
        result = super().call(graph_module)
        return PassResult(result.graph_module, self._found)


def _takes_tensor(parameter: Any) -> bool:
    return str(parameter.type) in ("Tensor", "Optional[Tensor]")


def _is_double(value: ProxyValue) -> bool:
    return isinstance(value.data, torch.Tensor) and value.data.dtype == torch.float64
