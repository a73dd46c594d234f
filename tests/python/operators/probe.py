# SPDX-License-Identifier: BSD-3-Clause
"""Finds out whether eager mode has an operator in a dtype: recorded calls are repeated with their tensors in that
dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from recorder import Call, record_call
from torch.utils import _pytree as pytree

TEMPLATES = 4
"""The number of accepted calls after which no further call of an operator is tried in a dtype."""


def in_dtype(call: Call, dtype: torch.dtype) -> Call | None:
    """Returns `call` with all tensors of its dtype converted to `dtype`, to values that `dtype` can represent and that
    are not zero if it is an integer dtype. A call without tensors gets `dtype` as its argument of that name; returns
    None if the operator has no such argument."""
    source = call.dtype

    def cast(tensor: torch.Tensor) -> torch.Tensor:
        return _cast(tensor, dtype) if tensor.dtype == source else tensor

    arguments: dict[str, Any] = {
        name: pytree.tree_map_only(torch.Tensor, cast, v) for name, v in call.arguments.items()
    }
    if not call.tensors():
        if not any(argument.name == "dtype" for argument in call.eager._schema.arguments):
            return None
        arguments["dtype"] = dtype
    return record_call(call.eager, (), arguments)


def _cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if dtype.is_complex and tensor.is_floating_point():
        tensor = tensor.nan_to_num(1, 9, 1)  # eager multiplies even by an alpha of 1: a complex infinity becomes NaN
    if dtype.is_floating_point or dtype.is_complex or dtype == torch.bool:
        return tensor.to(dtype)
    values = tensor.real if tensor.is_complex() else tensor
    values = values.double().nan_to_num(1, 9, 1)
    values = values.abs() if dtype.is_signed is False else values
    values = values.clamp(-100, 100).trunc()
    return torch.where(values == 0, 1, values).to(dtype).reshape(tensor.shape)


def accepted(templates: Sequence[Call], dtype: torch.dtype) -> list[Call]:
    """Returns the first calls that eager accepts in `dtype`; empty if it refuses all."""
    calls: list[Call] = []
    for template in templates:
        if len(calls) == TEMPLATES:
            break
        try:
            call = in_dtype(template, dtype)
        except Exception:
            continue  # a tensor that cannot be converted, or a result that cannot be copied
        if call is not None and call.error is None:
            calls.append(call)
    return calls


def promotes(call: Call, dtype: torch.dtype) -> bool:
    """Whether type promotion makes eager compute in another dtype than `dtype`: because `dtype` is an integer one and
    an argument is a Python float, or because a tensor has a wider dtype, which the result then has too."""
    numbers = pytree.tree_leaves(list(call.arguments.values()))
    if not dtype.is_floating_point and any(type(number) is float for number in numbers):
        return True
    wider = {t.dtype for t in call.tensors() if torch.promote_types(t.dtype, dtype) != dtype}
    return any(result is not None and result.dtype in wider for result in call.results or ())
