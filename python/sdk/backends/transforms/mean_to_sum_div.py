# SPDX-License-Identifier: BSD-3-Clause
"""`MeanToSumDiv`: replaces a mean by a sum and a division."""

from __future__ import annotations

import math
from typing import Any

from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass

_aten = exir_ops.edge.aten


class MeanToSumDiv(ExportPass):
    """For backends that sum and have no mean: `mean(x, dims)` becomes `sum(x, dims) / n`."""

    def call_operator(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], meta: Any) -> Any:
        if op != _aten.mean.dim:
            return super().call_operator(op, args, kwargs, meta)
        shape = args[0].data.shape
        dims = list(args[1]) if len(args) > 1 and args[1] else list(range(len(shape)))
        keepdim = args[2] if len(args) > 2 else False
        total = super().call_operator(_aten.sum.dim_IntList, (args[0], dims, keepdim), kwargs, meta)
        count = math.prod(shape[dim] for dim in dims)
        number = super().call_operator(
            _aten.full.default, ((1,) * total.data.dim(), count), {"dtype": total.data.dtype}, meta
        )
        return super().call_operator(_aten.div.Tensor, (total, number), {}, meta)
