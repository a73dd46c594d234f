# SPDX-License-Identifier: BSD-3-Clause
"""Rewrites a model before the quantizer annotates it."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import GraphModule, Node

from sdk.backends.graph.names import arguments_of
from sdk.backends.quantizer.patterns import turn_numbers_into_tensors

_aten = torch.ops.aten

_SPLITS = (_aten.split.Tensor, _aten.split.default, _aten.split_with_sizes.default, _aten.chunk.default)


def prepared_for_annotation(model: GraphModule) -> GraphModule:
    """Returns the model with divisions by constants as multiplications, splits as slices, and number operands as
    tensors."""
    model.graph.eliminate_dead_code()
    for node in list(model.graph.nodes):
        if node.op != "call_function":
            continue
        if node.target == _aten.div.Tensor:
            _multiply(model, node)
        elif node.target in _SPLITS:
            _slice(model, node)
    model.graph.eliminate_dead_code()
    turn_numbers_into_tensors(model)
    model.recompile()
    return model


def _multiply(model: GraphModule, node: Node) -> None:
    """Turns the division by a number, or by a constant that nothing else reads, into a multiplication."""
    source, divisor = node.args[:2]
    if not isinstance(source, Node) or not source.meta["val"].is_floating_point():
        return
    if isinstance(divisor, (int, float)) and divisor:
        factor: Any = 1 / divisor
    elif isinstance(divisor, Node) and divisor.op == "get_attr" and isinstance(divisor.target, str):
        tensor = operator.attrgetter(divisor.target)(model)
        if not tensor.is_floating_point() or not bool((tensor != 0).all()):
            return
        name = f"{divisor.target.replace('.', '_')}_reciprocal"
        model.register_buffer(name, tensor.detach().reciprocal(), persistent=True)
        with model.graph.inserting_before(node):
            factor = model.graph.get_attr(name)
        factor.meta["val"] = divisor.meta["val"]
    else:
        return
    node.target, node.args = _aten.mul.Tensor, (source, factor)


def _slice(model: GraphModule, node: Node) -> None:
    """Replaces each part of a split by a slice."""
    source = node.args[0]
    given = arguments_of(node)
    dim = given["dim"] % source.meta["val"].dim()
    start = 0
    ends = []
    for part in node.meta["val"]:
        ends.append((start, start + part.shape[dim], part))
        start = ends[-1][1]
    for item in list(node.users):
        if item.target is not operator.getitem:
            return
    for item in list(node.users):
        begin, end, value = ends[item.args[1]]
        with model.graph.inserting_before(item):
            part = model.graph.call_function(_aten.slice.Tensor, (source, dim, begin, end))
        part.meta.update(item.meta)
        part.meta["val"] = value
        item.replace_all_uses_with(part)
        model.graph.erase_node(item)
