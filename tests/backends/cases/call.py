# SPDX-License-Identifier: BSD-3-Clause
"""Declares the calls of an operator, and modules of several calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.fx import Node
from torch.utils import _pytree as pytree

OPERATORS: dict[str, Callable[[], list[Call]]] = {}
"""ATen's name of an overload (`add.Tensor`) to the function that makes its calls."""


@dataclass(frozen=True)
class Weight:
    """An argument whose values are known when the model is lowered: a parameter of the module."""

    tensor: Tensor


@dataclass(frozen=True)
class Sliced:
    """An argument that is a view at an offset: all but the first column of `tensor`."""

    tensor: Tensor


@dataclass(frozen=True)
class Size:
    """An argument that is a size: `factor` times dimension `dim` of input number `tensor` of the same call."""

    tensor: int
    dim: int
    factor: int = 1


@dataclass(frozen=True)
class Call:
    """One call: positional and keyword arguments of the overload. Tensors are inputs of the program, a `Weight` is a
    parameter, a `Sliced` is sliced in the program, a `Size` is computed there, everything else is a constant."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)


def call(*args: Any, **kwargs: Any) -> Call:
    return Call(args, kwargs)


def operator(*names: str) -> Callable[[Callable[[], list[Call]]], Callable[[], list[Call]]]:
    """Registers a function that returns the calls of the overloads `names`."""

    def register(function: Callable[[], list[Call]]) -> Callable[[], list[Call]]:
        for name in names:
            assert name not in OPERATORS, f"{name} has calls already"
            OPERATORS[name] = function
        return function

    return register


def calls_of(name: str) -> list[Call]:
    """The calls of an overload, with the same values each time."""
    torch.manual_seed(0)
    return OPERATORS[name]()


def within(one: Call, largest: float) -> Call:
    """The call, with finite elements of its tensors that are larger than `largest` in magnitude replaced by 0."""

    def limited(x: Tensor) -> Tensor:
        return x.masked_fill(x.isfinite() & (x.abs() > largest), 0)

    return Call(*pytree.tree_map_only(Tensor, limited, (one.args, one.kwargs)))


class OneCall(nn.Module):
    """Calls an overload. Each call is a separate module, so that its nodes can be identified."""

    def __init__(self, overload: Callable[..., Any]) -> None:
        super().__init__()
        self.overload = overload

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.overload(*args, **kwargs)


def overload_of(name: str) -> Callable[..., Any]:
    """The operator of ATen with this name: `add.Tensor`."""
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload)


class Calls(nn.Module):
    """A program that makes calls of overloads; its outputs are the tensors of all their results."""

    def __init__(self, calls: Sequence[tuple[Callable[..., Any], Call]]) -> None:
        super().__init__()
        self.calls = nn.ModuleList(OneCall(overload) for overload, _ in calls)
        self.weights = nn.ParameterList()
        self.inputs: list[Tensor] = []
        self.descriptions = [f"{overload}({_describe(one)})" for overload, one in calls]
        self._plans: list[tuple[Callable[..., Any], list[tuple[str, Any]], pytree.TreeSpec]] = []
        for overload, one in calls:
            leaves, spec = pytree.tree_flatten((one.args, one.kwargs))
            first = len(self.inputs)
            self._plans.append((overload, [self._plan(leaf, first) for leaf in leaves], spec))

    def _plan(self, leaf: Any, first: int) -> tuple[str, Any]:
        if isinstance(leaf, (Tensor, Sliced)):
            self.inputs.append(leaf.tensor if isinstance(leaf, Sliced) else leaf)
            return ("slice" if isinstance(leaf, Sliced) else "input"), len(self.inputs) - 1
        if isinstance(leaf, Weight):
            self.weights.append(nn.Parameter(leaf.tensor, requires_grad=False))
            return "weight", len(self.weights) - 1
        if isinstance(leaf, Size):
            return "size", Size(first + leaf.tensor, leaf.dim, leaf.factor)
        return "constant", leaf

    def forward(self, *inputs: Tensor) -> list[Tensor]:
        return [result for number in range(len(self._plans)) for result in self.results_of(number, inputs)]

    def results_of(self, number: int, inputs: tuple[Tensor, ...]) -> list[Tensor]:
        """The results of one call."""
        _, plan, spec = self._plans[number]
        args, kwargs = pytree.tree_unflatten([self._value(kind, value, inputs) for kind, value in plan], spec)
        return [leaf for leaf in pytree.tree_leaves(self.calls[number](*args, **kwargs)) if isinstance(leaf, Tensor)]

    def _value(self, kind: str, value: Any, inputs: tuple[Tensor, ...]) -> Any:
        if kind == "input":
            return inputs[value]
        if kind == "slice":
            return inputs[value][..., 1:]
        if kind == "size":
            return value.factor * inputs[value.tensor].shape[value.dim]
        return self.weights[value] if kind == "weight" else value


def call_of(node: Node) -> str | None:
    """The call that a node of a program of `Calls` computes, as the path of its `OneCall`; None if it belongs to
    no call, such as the slice of a `Sliced`."""
    paths = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values()]
    return next((path for path in paths if path.startswith("calls.")), None)


def _describe(one: Call) -> str:
    leaves, spec = pytree.tree_flatten((one.args, one.kwargs))
    args, kwargs = pytree.tree_unflatten([_Text(_describe_leaf(leaf)) for leaf in leaves], spec)
    return ", ".join([*map(str, args), *(f"{key}={value}" for key, value in kwargs.items())])


class _Text(str):
    """A string that is shown without quotes in lists."""

    __repr__ = str.__str__


def _describe_leaf(leaf: Any) -> str:
    if isinstance(leaf, (Weight, Sliced)):
        return f"{type(leaf).__name__}({_describe_leaf(leaf.tensor)})"
    if not isinstance(leaf, Tensor):
        return str(leaf)
    layout = "" if leaf.is_contiguous() else f" strides {list(leaf.stride())}"
    offset = f" offset {leaf.storage_offset()}" if leaf.storage_offset() else ""
    return f"{str(leaf.dtype).removeprefix('torch.')}{list(leaf.shape)}{layout}{offset}"
