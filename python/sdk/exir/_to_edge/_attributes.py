# SPDX-License-Identifier: BSD-3-Clause
"""Attributes of the modules that branches and loop bodies become."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch._subclasses import FakeTensorMode
from torch.fx import Graph, Node

from sdk.exir._to_edge._emitter import ConstantSink


def add_attribute(root: torch.nn.Module, name: str, value: Any) -> str:
    """Adds `value` as an attribute and returns the attribute's name. It differs from `name` if another attribute has
    that name: scalars become constants under names that the model may use, and inlined regions have names like those
    around them."""
    free = name
    for index in itertools.count():
        if getattr(root, free, value) is value:
            break
        free = f"{name}_{index}"
    setattr(root, free, value)
    return free


def attribute_sink(root: torch.nn.Module, fake_mode: FakeTensorMode) -> ConstantSink:
    """Returns a function that adds a constant to a branch as an attribute of `root`, the branch's module: a branch has
    no signature that could name constants."""
    count = 0

    def add(graph: Graph, constant: torch.Tensor) -> Node:
        nonlocal count
        while hasattr(root, f"_tensor_constant{count}"):
            count += 1  # the model has a constant of this name
        name = f"_tensor_constant{count}"
        root.register_buffer(name, constant)
        node = graph.get_attr(name)
        node.meta["val"] = fake_mode.from_tensor(constant, static_shapes=True)
        return node

    return add
