# SPDX-License-Identifier: BSD-3-Clause
"""Zoo entries, and their declaration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn


@dataclass
class Method:
    """One method of a program: a module, the calls to make on it in order, and its dynamic dimensions.

    The first call's inputs are the example inputs of the export. A stateful module is called in order, from its
    initial state.
    """

    module: nn.Module
    calls: list[tuple[Any, ...]]
    dynamic_shapes: Any = None


@dataclass
class Case:
    """A program: its methods by name, and methods that return constants."""

    methods: dict[str, Method]
    constant_methods: dict[str, Any] = field(default_factory=dict)


CASES: dict[str, Callable[[], Case]] = {}


def case(function: Callable[[], Case | Method]) -> Callable[[], Case | Method]:
    """Register ``function`` as the zoo entry of its name. A bare Method becomes a program with ``forward`` only."""

    def make() -> Case:
        torch.manual_seed(0)
        made = function()
        made = made if isinstance(made, Case) else Case({"forward": made})
        for method in made.methods.values():
            method.module.eval()
        return made

    CASES[function.__name__] = make
    return function


def build(name: str) -> Case:
    """The zoo entry ``name``, freshly initialised from a fixed seed."""
    return CASES[name]()
