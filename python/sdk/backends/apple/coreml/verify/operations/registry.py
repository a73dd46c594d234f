# SPDX-License-Identifier: BSD-3-Clause
"""The table of operations, and helpers for them.

An operation is a function with the parameters of MIL's operation. Tensors in float16 arrive in float32; results are
converted to the dtype that the program declares. Constants arrive as tensors, texts as `str`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch

Operation = Callable[..., Any]
OPERATIONS: dict[str, Operation] = {}

_F = TypeVar("_F", bound=Operation)

DTYPES = {
    "fp16": torch.float16,
    "fp32": torch.float32,
    "int8": torch.int8,
    "uint8": torch.uint8,
    "int16": torch.int16,
    "uint16": torch.uint16,
    "int32": torch.int32,
    "bool": torch.bool,
}


class UndefinedError(ValueError):
    """Apple's reference does not define the result of an operation on these operands."""


def operation(*names: str) -> Callable[[_F], _F]:
    """Registers a function for operations of MIL."""

    def register(function: _F) -> _F:
        for name in names:
            OPERATIONS[name] = function
        return function

    return register


def ints(value: Any) -> list[int]:
    """Converts a tensor, a number or a list of numbers to a list of integers."""
    if isinstance(value, torch.Tensor):
        return [int(i) for i in value.reshape(-1).tolist()]
    return [int(i) for i in value] if isinstance(value, (list, tuple)) else [int(value)]


def number(value: Any, default: float = 0.0) -> float:
    """The number in a tensor; `default` for None."""
    if value is None:
        return default
    return float(value.item()) if isinstance(value, torch.Tensor) else float(value)


def integer(value: Any, default: int = 0) -> int:
    """The integer in a tensor; `default` for None."""
    return default if value is None else int(value.item() if isinstance(value, torch.Tensor) else value)


def flag(value: Any, default: bool = False) -> bool:
    """The truth value in a tensor; `default` for None."""
    return default if value is None else bool(value.item() if isinstance(value, torch.Tensor) else value)


def in_range(indices: torch.Tensor, size: int, negative: bool = True) -> torch.Tensor:
    """Indices as int64, negative ones counted from the end.

    Raises:
        UndefinedError: an index is outside.
    """
    indices = indices.to(torch.int64)
    least = -size if negative else 0
    if indices.numel() and (int(indices.min()) < least or int(indices.max()) >= size):
        raise UndefinedError(
            f"an index is {int(indices.min())} or {int(indices.max())}, outside of {least} to "
            f"{size - 1}: Core ML's result is "
            "undefined"
        )
    return torch.where(indices < 0, indices + size, indices)
