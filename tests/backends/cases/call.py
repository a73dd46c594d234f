# SPDX-License-Identifier: BSD-3-Clause
"""How a call of an operator is declared, and the module that makes all calls of one operator."""

from __future__ import annotations

from collections.abc import Callable
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
class Call:
    """One call: positional and keyword arguments of the overload. Tensors are inputs of the program, a `Weight` is a
    parameter, a `Sliced` is sliced in the program, everything else is a constant."""

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


class OneCall(nn.Module):
    """Calls an overload: a module of its own, so that the nodes of each call can be told from others."""

    def __init__(self, overload: Callable[..., Any]) -> None:
        super().__init__()
        self.overload = overload

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.overload(*args, **kwargs)


class Calls(nn.Module):
    """A program with a sequence of calls of `overload`; its outputs are the tensors of all their results."""

    def __init__(self, overload: Callable[..., Any], calls: list[Call]) -> None:
        super().__init__()
        self.calls = nn.ModuleList(OneCall(overload) for _ in calls)
        self.weights = nn.ParameterList()
        self.inputs: list[Tensor] = []
        self._plans: list[tuple[list[tuple[str, Any]], pytree.TreeSpec]] = []
        for one in calls:
            leaves, spec = pytree.tree_flatten((one.args, one.kwargs))
            self._plans.append(([self._plan(leaf) for leaf in leaves], spec))

    def _plan(self, leaf: Any) -> tuple[str, Any]:
        if isinstance(leaf, (Tensor, Sliced)):
            self.inputs.append(leaf.tensor if isinstance(leaf, Sliced) else leaf)
            return ("slice" if isinstance(leaf, Sliced) else "input"), len(self.inputs) - 1
        if isinstance(leaf, Weight):
            self.weights.append(nn.Parameter(leaf.tensor, requires_grad=False))
            return "weight", len(self.weights) - 1
        return "constant", leaf

    def forward(self, *inputs: Tensor) -> list[Tensor]:
        results: list[Tensor] = []
        for one, (plan, spec) in zip(self.calls, self._plans, strict=True):
            args, kwargs = pytree.tree_unflatten([self._value(kind, value, inputs) for kind, value in plan], spec)
            results += [leaf for leaf in pytree.tree_leaves(one(*args, **kwargs)) if isinstance(leaf, Tensor)]
        return results

    def _value(self, kind: str, value: Any, inputs: tuple[Tensor, ...]) -> Any:
        if kind == "input":
            return inputs[value]
        if kind == "slice":
            return inputs[value][..., 1:]
        return self.weights[value] if kind == "weight" else value


def call_of(node: Node) -> str | None:
    """The call that a node of a program of `Calls` computes, as the path of its `OneCall`; None if it belongs to none,
    as the slice of a `Sliced`."""
    paths = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values()]
    return next((path for path in paths if path.startswith("calls.")), None)
