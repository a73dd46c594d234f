# SPDX-License-Identifier: BSD-3-Clause
"""`ReplaceQuantNodesPass`: lowers conversions between floats and integers."""

from __future__ import annotations

from typing import Any

import torch

import sdk.backends.cortex_m.ops.operators  # noqa: F401  (registers the operators)
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass

_PAIRS = {
    getattr(exir_ops.edge.quantized_decomposed, name).default: getattr(exir_ops.edge.cortex_m, name).default
    for name in ("quantize_per_tensor", "dequantize_per_tensor")
}


class ReplaceQuantNodesPass(ExportPass):
    """Replaces quantize and dequantize of int8 and int16 with one scale by the operators of cortex_m."""

    def call_operator(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], meta: Any) -> Any:
        if op in _PAIRS and args[5] in (torch.int8, torch.int16) and not kwargs:
            op = _PAIRS[op]
        return super().call_operator(op, args, kwargs, meta)
