# SPDX-License-Identifier: BSD-3-Clause
"""Replaces operators that cannot be quantised as a whole by PyTorch's decompositions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import map_arg
from torch.utils import _pytree as pytree

from sdk.backends.arm.quantizer.annotation import is_annotated_here
from sdk.backends.arm.quantizer.place import Place
from sdk.backends.arm.quantizer.rewriting import REWRITTEN

_aten = torch.ops.aten


def _distances(x1: torch.Tensor, x2: torch.Tensor, p: float, compute_mode: int | None) -> Any:
    """torch.cdist: the distances between the rows of two matrices. The usual norms are computed without powers."""
    difference = (x1.unsqueeze(-2) - x2.unsqueeze(-3)).abs()
    if p == 1:
        return difference.sum(-1)
    if p == 2:
        return (difference * difference).sum(-1).sqrt()
    return difference.amax(-1) if math.isinf(p) else NotImplemented


_DECOMPOSITIONS = {
    target: function
    for target, function in torch._decomp.decomposition_table.items()
    if target not in REWRITTEN and not is_annotated_here(target)
}
_DECOMPOSITIONS[_aten._cdist_forward.default] = _distances


def decompose(model: GraphModule, is_wanted: Callable[[Node], bool]) -> None:
    """Decomposes calls of `model` for which `is_wanted` returns true, if all resulting calls are quantised."""
    for node in list(model.graph.nodes):
        if node.op == "call_function" and _is_unknown(node) and is_wanted(node):
            traced = _traced(node)
            if traced is not None and all(map(_is_quantised, traced.graph.nodes)):
                _inline(Place(model, node, {}), traced)
    model.recompile()


def _is_unknown(node: Node) -> bool:
    """Whether a call computes with floats of known sizes, makes new tensors, and has a decomposition."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload) or target._schema.is_mutable or _is_known(node):
        return False
    values = [each.meta.get("val") for each in node.all_input_nodes]
    return _has_floats(values) and all(
        isinstance(value, torch.Tensor) and all(isinstance(size, int) for size in value.shape) for value in values
    )


def _is_known(node: Node) -> bool:
    return node.target in REWRITTEN or is_annotated_here(node.target, *node.args)


def _has_floats(values: Any) -> bool:
    return any(isinstance(each, torch.Tensor) and each.is_floating_point() for each in values)


def _is_quantised(node: Node) -> bool:
    """Whether a node of a decomposition is quantised, or has nothing to quantise."""
    if node.op != "call_function" or _is_known(node):
        return True
    return not _has_floats(each.meta.get("val") for each in node.all_input_nodes)


def _traced(node: Node) -> GraphModule | None:
    """Returns the graph that a call decomposes to, with its operands as placeholders, or None if PyTorch cannot trace
    it."""
    leaves, spec = pytree.tree_flatten((node.args, node.kwargs))
    operands = node.all_input_nodes

    def call(*tensors: torch.Tensor) -> Any:
        given = dict(zip(operands, tensors, strict=True))
        filled = [given[leaf] if isinstance(leaf, Node) else leaf for leaf in leaves]
        args, kwargs = pytree.tree_unflatten(filled, spec)
        return node.target(*args, **kwargs)

    values = [operand.meta["val"] for operand in operands]
    try:
        with torch.no_grad(), values[0].fake_mode:
            return make_fx(call, _DECOMPOSITIONS)(*values)
    except RuntimeError:
        return None


def _inline(place: Place, traced: GraphModule) -> None:
    """Replaces a call by the graph that was traced from it."""
    graph, node = place.node.graph, place.node
    made = dict(zip(traced.graph.find_nodes(op="placeholder"), node.all_input_nodes, strict=True))
    results: Any = None
    for each in traced.graph.nodes:
        if each.op == "get_attr":
            made[each] = place.constant(getattr(traced, each.target))
        elif each.op == "call_function":
            with graph.inserting_before(node):
                made[each] = graph.node_copy(each, made.__getitem__)
            made[each].meta = {**node.meta, "val": each.meta["val"]}
            if each.target is _aten.view.default:  # observers may return operands in another order
                made[each].target = _aten.reshape.default
        elif each.op == "output":
            results = map_arg(each.args[0], made.__getitem__)
    if isinstance(results, Node):
        node.replace_all_uses_with(results)
    else:
        for user in list(node.users):
            user.replace_all_uses_with(results[user.args[1]])
            graph.erase_node(user)
    graph.erase_node(node)
