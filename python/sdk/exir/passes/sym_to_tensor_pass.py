# SPDX-License-Identifier: BSD-3-Clause
"""Turns symbolic numbers that an operator takes as tensors into tensors."""

from __future__ import annotations

from typing import Any

import torch

from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.dialects.edge._ops import EdgeOpOverload
from sdk.exir.pass_base import ExportPass, NodeMetadata, ProxyValue

_DTYPES = {torch.SymInt: torch.int32, torch.SymFloat: torch.float32, torch.SymBool: torch.bool}


class SymToTensorPass(ExportPass):
    """`add.Tensor(x, sym_size)` becomes `add.Tensor(x, scalar_tensor(sym_size))`."""

    def call_operator(self, op: Any, args: tuple, kwargs: dict[str, Any], meta: NodeMetadata) -> ProxyValue:
        schema = op._op._schema if isinstance(op, EdgeOpOverload) else getattr(op, "_schema", None)
        if schema is None:
            return super().call_operator(op, args, kwargs, meta)
        new_args = list(args)
        for i, (value, parameter) in enumerate(zip(args, schema.arguments, strict=False)):
            number = value.data if isinstance(value, ProxyValue) else None
            if type(number) in _DTYPES and str(parameter.type) in ("Tensor", "Optional[Tensor]"):
                new_args[i] = super().call_operator(
                    exir_ops.edge.aten.scalar_tensor.default, (value,), {"dtype": _DTYPES[type(number)]}, meta
                )
        return super().call_operator(op, tuple(new_args), kwargs, meta)
