# SPDX-License-Identifier: BSD-3-Clause
"""Casts the arguments of binary operators to one dtype."""

from __future__ import annotations

from typing import Any

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.dialects.edge._ops import EdgeOpOverload
from sdk.exir.operator.aten_rules import PROMOTING_OPS
from sdk.exir.pass_base import ExportPass, NodeMetadata, ProxyValue


class RemoveMixedTypeOperators(ExportPass):
    """`add(int, float)` becomes `add(to(int, float32), float)`, in ATen and in edge dialect. `to_edge` does this
    already; use it after passes that mix dtypes."""

    def call_operator(self, op: Any, args: tuple, kwargs: dict[str, Any], meta: NodeMetadata) -> ProxyValue:
        aten_op = op._op if isinstance(op, EdgeOpOverload) else op
        operands = args[:2]
        if aten_op not in PROMOTING_OPS or not all(isinstance(a, ProxyValue) and a.is_tensor() for a in operands):
            return super().call_operator(op, args, kwargs, meta)
        dtype = elementwise_dtypes(*(a.data for a in operands), type_promotion_kind=_promotion(aten_op, kwargs))[1]
        new_args = tuple(a if a.data.dtype == dtype else self._cast(op, a, dtype, meta) for a in operands)
        return super().call_operator(op, (*new_args, *args[2:]), kwargs, meta)

    def _cast(self, op: Any, value: ProxyValue, dtype: torch.dtype, meta: NodeMetadata) -> ProxyValue:
        if not isinstance(op, EdgeOpOverload):
            return super().call_operator(torch.ops.aten._to_copy.default, (value,), {"dtype": dtype}, meta)
        options = {"dtype": dtype, "dim_order": list(value.data.dim_order())}
        return super().call_operator(exir_ops.edge.dim_order_ops._to_dim_order_copy.default, (value,), options, meta)


def _promotion(op: torch._ops.OpOverload, kwargs: dict[str, Any]) -> ELEMENTWISE_TYPE_PROMOTION_KIND:
    """A quotient that is not rounded is a float, even if both operands are integers."""
    divides = op in (torch.ops.aten.div.Tensor, torch.ops.aten.div.Tensor_mode)
    if divides and kwargs.get("rounding_mode") is None:
        return ELEMENTWISE_TYPE_PROMOTION_KIND.INT_TO_FLOAT
    return ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT
