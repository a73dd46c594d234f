# SPDX-License-Identifier: BSD-3-Clause
"""Replaces dim orders that kernels do not support by contiguous ones."""

from __future__ import annotations

from typing import Any

from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass, NodeMetadata, ProxyValue

_WITH_DIM_ORDER = (
    exir_ops.edge.dim_order_ops._to_dim_order_copy.default,
    exir_ops.edge.dim_order_ops._clone_dim_order.default,
    exir_ops.edge.dim_order_ops._empty_dim_order.default,
)
_CHANNELS_LAST = ([0, 2, 3, 1], [0, 2, 3, 4, 1])


class LegalizePortableDimOrderPass(ExportPass):
    """Kernels take contiguous and channels-last tensors; other dim orders become contiguous."""

    def call_operator(self, op: Any, args: tuple, kwargs: dict[str, Any], meta: NodeMetadata) -> ProxyValue:
        dim_order = kwargs.get("dim_order")
        if op in _WITH_DIM_ORDER and dim_order is not None:
            contiguous = list(range(len(dim_order)))
            if list(dim_order) != contiguous and list(dim_order) not in _CHANNELS_LAST:
                kwargs = {**kwargs, "dim_order": contiguous}
        return super().call_operator(op, args, kwargs, meta)
