# SPDX-License-Identifier: BSD-3-Clause
"""Casts the arguments of binary operators to one dtype."""

from __future__ import annotations

from typing import Any

import torch

from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.dialects.edge._ops import EdgeOpOverload
from sdk.exir.operator.aten_rules import PROMOTING_OPS
from sdk.exir.pass_base import ExportPass, NodeMetadata, ProxyValue


class RemoveMixedTypeOperators(ExportPass):
    """`add(int, float)` becomes `add(to(int, float32), float)`. `to_edge` does this already; use it after passes
    that mix dtypes."""

    def call_operator(self, op: Any, args: tuple, kwargs: dict[str, Any], meta: NodeMetadata) -> ProxyValue:
        aten_op = op._op if isinstance(op, EdgeOpOverload) else op
        operands = args[:2]
        if aten_op not in PROMOTING_OPS or not all(isinstance(a, ProxyValue) and a.is_tensor() for a in operands):
            return super().call_operator(op, args, kwargs, meta)
        dtype = torch.result_type(*(torch.empty((1,) if a.data.dim() else (), dtype=a.data.dtype) for a in operands))
        cast = exir_ops.edge.dim_order_ops._to_dim_order_copy.default
        new_args = tuple(
            a
            if a.data.dtype == dtype
            else super(RemoveMixedTypeOperators, self).call_operator(
                cast, (a,), {"dtype": dtype, "dim_order": list(a.data.dim_order())}, meta
            )
            for a in operands
        )
        return super().call_operator(op, (*new_args, *args[2:]), kwargs, meta)
