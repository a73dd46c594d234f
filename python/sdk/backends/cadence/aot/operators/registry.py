# SPDX-License-Identifier: BSD-3-Clause
"""Declares operators: one decorator takes the schema, the reference implementation and the shape function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.library import Library

_KERNEL = "CompositeExplicitAutograd"
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Operator:
    """An operator. `name` may end with a point and an overload. `outs` are the out arguments of the out variant; an
    operator that writes to its first argument has no out arguments."""

    name: str
    arguments: str
    eager: Callable[..., Any]
    shape: Callable[..., Any]
    outs: tuple[str, ...]
    returns: str

    @property
    def schema(self) -> str:
        return f"{self.name}({self.arguments}) -> {self.returns}"

    @property
    def out_name(self) -> str:
        base, _, overload = self.name.partition(".")
        return f"{base}.{overload}_out" if overload else f"{base}.out"

    @property
    def out_schema(self) -> str:
        marks = [f"Tensor({letter}!)" for letter in "abc"[: len(self.outs)]]
        outs = ", ".join(f"{mark} {name}" for mark, name in zip(marks, self.outs, strict=True))
        written = marks[0] if len(marks) == 1 else f"({', '.join(marks)})"
        return f"{self.out_name}({self.arguments}, *, {outs}) -> {written}"


OPERATORS: dict[str, Operator] = {}


def operator(
    name: str,
    arguments: str,
    shape: Callable[..., Any],
    outs: tuple[str, ...] = ("out",),
    returns: str = "Tensor",
) -> Callable[[Function], Function]:
    """Declares `cadence::NAME(ARGUMENTS)`, which the decorated function computes."""

    def declare(eager: Function) -> Function:
        if name in OPERATORS:
            raise ValueError(f"cadence::{name} is declared twice")
        OPERATORS[name] = Operator(name, arguments, eager, shape, outs, returns)
        return eager

    return declare


def register(library: Library) -> None:
    """Defines the declared operators and their out variants."""
    for each in OPERATORS.values():
        library.define(each.schema)
        library.impl(each.name, each.eager, _KERNEL)
        library.impl(each.name, each.shape, "Meta")
        if each.outs:
            library.define(each.out_schema)
            library.impl(each.out_name, _out_variant(each), _KERNEL)


def _out_variant(declared: Operator) -> Callable[..., Any]:
    def write(*args: Any, **kwargs: Any) -> Any:
        targets: list[Tensor] = [kwargs.pop(name) for name in declared.outs]
        values = declared.eager(*args, **kwargs)
        for target, value in zip(targets, values if len(targets) > 1 else [values], strict=True):
            target.resize_(value.shape).copy_(value)
        return tuple(targets) if len(targets) > 1 else targets[0]

    return write


class ArgumentError(ValueError, AssertionError):
    """An operator refuses an argument. It derives from both exceptions that ExecuTorch's operators raise."""


def check(condition: bool, message: str) -> None:
    """Raises ArgumentError with the message unless the condition holds."""
    if not condition:
        raise ArgumentError(message)


def check_dtype(operator_name: str, name: str, tensor: Tensor, *dtypes: torch.dtype) -> None:
    """Raises ArgumentError unless the tensor has one of the dtypes."""
    expected = " or ".join(str(dtype) for dtype in dtypes)
    check(tensor.dtype in dtypes, f"cadence::{operator_name}: expected {name} of {expected}, found {tensor.dtype}")
