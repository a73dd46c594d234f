# SPDX-License-Identifier: BSD-3-Clause
"""Operators and checks that the tensor subclasses of quantised weights share."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

aten = torch.ops.aten


def dequantize_in_layers(subclass: Any) -> None:
    """Gives a subclass of `TorchAOBaseTensor` with a method `dequantize(dtype)` the operators that layers call."""

    @subclass.implements([aten.linear.default])
    def _(func: Any, types: Any, args: Any, kwargs: Any) -> Tensor:
        x, weight, *bias = args
        return F.linear(x, weight.dequantize(x.dtype), *bias)

    @subclass.implements([aten.embedding.default])
    def _(func: Any, types: Any, args: Any, kwargs: Any) -> Tensor:
        return F.embedding(args[1], args[0].dequantize())

    @subclass.implements([aten.t.default])
    def _(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return args[0].dequantize().t()

    @subclass.implements([aten.detach.default, aten.alias.default])
    def _(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return args[0]

    @subclass.implements([aten._to_copy.default])
    def _(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return args[0].dequantize(kwargs.get("dtype"))


def floating_dtype(dtype: torch.dtype) -> torch.dtype:
    """Returns the dtype that `Tensor.to` was given for quantised weights. Raises TypeError unless it is
    floating-point."""
    if not dtype.is_floating_point:
        raise TypeError(f"expected a floating-point dtype for quantised weights, found {dtype}")
    return dtype
