# SPDX-License-Identifier: BSD-3-Clause
"""Conversion between operators with memory formats and operators with dim orders."""

from __future__ import annotations

from typing import Any

import torch

from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.dim_order_utils import get_dim_order, get_memory_format
from sdk.exir.pass_base import ExportPass, NodeMetadata, ProxyValue

_aten, _dim_order = exir_ops.edge.aten, exir_ops.edge.dim_order_ops
_TO_DIM_ORDER = {
    _aten._to_copy.default: _dim_order._to_dim_order_copy.default,
    _aten.clone.default: _dim_order._clone_dim_order.default,
    _aten.empty.memory_format: _dim_order._empty_dim_order.default,
}
_TO_MEMORY_FORMAT = {dim_order: aten for aten, dim_order in _TO_DIM_ORDER.items()}


class MemoryFormatOpsPass(ExportPass):
    """Converts memory formats to dim orders. `to_edge` does this already unless `_skip_dim_order` is set."""

    def call_operator(self, op: Any, args: tuple, kwargs: dict[str, Any], meta: NodeMetadata) -> ProxyValue:
        if op not in _TO_DIM_ORDER:
            return super().call_operator(op, args, kwargs, meta)
        kwargs = dict(kwargs)
        memory_format = kwargs.pop("memory_format", None)
        source = args[0].data if isinstance(args[0], ProxyValue) else None
        ndim = source.dim() if isinstance(source, torch.Tensor) else len(args[0])
        dim_order = get_dim_order(memory_format, ndim)
        if dim_order is None:
            dim_order = list(source.dim_order()) if isinstance(source, torch.Tensor) else list(range(ndim))
        kwargs["dim_order"] = dim_order
        return super().call_operator(_TO_DIM_ORDER[op], args, kwargs, meta)


class DimOrderOpsRevertPass(ExportPass):
    """Converts dim orders to memory formats, for backends that support only memory formats."""

    def call_operator(self, op: Any, args: tuple, kwargs: dict[str, Any], meta: NodeMetadata) -> ProxyValue:
        if op not in _TO_MEMORY_FORMAT:
            return super().call_operator(op, args, kwargs, meta)
        kwargs = dict(kwargs)
        kwargs["memory_format"] = get_memory_format(kwargs.pop("dim_order", None))
        kwargs.pop("non_blocking", None)
        return super().call_operator(_TO_MEMORY_FORMAT[op], args, kwargs, meta)
