# SPDX-License-Identifier: BSD-3-Clause
"""`ReplaceScalarWithTensorArgPass`: replaces number operands by tensors."""

from __future__ import annotations

from typing import Any

import torch

from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass

_aten = exir_ops.edge.aten
_DEFAULT = {getattr(_aten, name).Scalar: getattr(_aten, name).Tensor for name in ("add", "sub", "mul", "div")}


class ReplaceScalarWithTensorArgPass(ExportPass):
    """`scalar_to_tensor_ops` maps an operator whose second argument is a number to the operator whose second argument
    is a tensor; by default those of add, sub, mul and div. The number becomes `aten.full` of one element, with the
    dtype in which the operator computes."""

    def __init__(self, scalar_to_tensor_ops: dict[Any, Any] | None = None) -> None:
        super().__init__()
        self.scalar_to_tensor_ops = _DEFAULT if scalar_to_tensor_ops is None else scalar_to_tensor_ops

    def call_operator(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], meta: Any) -> Any:
        if op not in self.scalar_to_tensor_ops:
            return super().call_operator(op, args, kwargs, meta)
        tensor = args[0].data if hasattr(args[0], "data") else args[0]
        dtype = torch.result_type(tensor, args[1])
        number = super().call_operator(_aten.full.default, ((1,) * tensor.dim(), args[1]), {"dtype": dtype}, meta)
        return super().call_operator(self.scalar_to_tensor_ops[op], (args[0], number, *args[2:]), kwargs, meta)
