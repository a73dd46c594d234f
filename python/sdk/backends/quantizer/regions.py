# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of `torch.no_grad()`, which are graphs of their own in a captured model."""

from __future__ import annotations

import functools
import operator
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg
from torch.utils._pytree import tree_map_only

from sdk.backends.quantizer.aliases import is_view, written_operands

_REGION = torch.ops.higher_order.wrap_with_set_grad_enabled
_DETACH = torch.ops.aten.detach.default

WITHOUT_GRADIENT = "sdk_without_gradient"
"""The key in Node.meta of writes that were in such a block."""


def inline_regions_that_write(model: GraphModule) -> bool:
    """Replaces blocks that write in place by their nodes. Their results have no gradients, as in the block. Blocks that
    write to a parameter, or to a result with gradients, stay: these gradients would be lost. Returns whether there were
    any others."""
    pending, found = True, False
    while pending:  # blocks may be nested
        pending = False
        for node in list(model.graph.nodes):
            if (
                node.target is _REGION
                and _writes(model.get_submodule(node.args[1].target))
                and not _trains(model, node)
            ):
                _inline(model, node)
                pending = found = True
    return found


def _writes(region: Any) -> bool:
    inner = [region.get_submodule(node.args[1].target) for node in region.graph.nodes if node.target is _REGION]
    return any(any(True for _ in written_operands(node)) for node in region.graph.nodes) or any(map(_writes, inner))


def _trains(model: GraphModule, node: Node) -> bool:
    """Whether a block writes to a parameter, or to a result with gradients. Those gradients stay as they are in the
    block, whatever it writes; no other operator changes a value and not its gradient."""
    region = model.get_submodule(node.args[1].target)
    given = dict(zip(region.graph.find_nodes(op="placeholder"), node.args[2:], strict=True))
    written = [each for inner in region.graph.nodes for each in written_operands(inner)]
    return any(_has_gradient(model, given[root]) for root in map(_base, written) if root in given)


def _base(node: Any) -> Any:
    """The tensor that a view, or the result of a write, shares memory with."""
    while isinstance(node, Node) and (is_view(node) or node.target is operator.getitem or any(written_operands(node))):
        node = node.args[0]
    return node


def _has_gradient(model: GraphModule, node: Node) -> bool:
    pending, seen = [node], set[Node]()
    while pending:
        each = pending.pop()
        found = each.meta.get("val")
        if each in seen or (isinstance(found, torch.Tensor) and not found.is_floating_point()):
            continue
        seen.add(each)
        if each.op == "get_attr":
            attribute = functools.reduce(getattr, str(each.target).split("."), model)
            if isinstance(attribute, torch.nn.Parameter):
                return True
        pending.extend(each.all_input_nodes)
    return False


def _inline(model: GraphModule, node: Node) -> None:
    enabled, attribute, *operands = node.args
    prefix = str(attribute.target)
    region = model.get_submodule(prefix)
    made = dict(zip(region.graph.find_nodes(op="placeholder"), operands, strict=True))
    results: Any = ()
    with model.graph.inserting_before(node):
        for each in region.graph.nodes:
            if each.op == "output":
                results = map_arg(each.args[0], made.__getitem__)
            elif each.op != "placeholder":
                made[each] = model.graph.node_copy(each, made.__getitem__)
                made[each].meta = {**each.meta, WITHOUT_GRADIENT: not enabled}
                if each.op == "get_attr":
                    made[each].target = f"{prefix}.{each.target}"
        if not enabled:
            results = tree_map_only(Node, lambda result: _detached(model, result), results)
    for user in list(node.users):
        assert user.target is operator.getitem
        user.replace_all_uses_with(results[user.args[1]])
        model.graph.erase_node(user)
    model.graph.erase_node(node)
    if not attribute.users:
        model.graph.erase_node(attribute)


def _detached(model: GraphModule, result: Node) -> Node:
    value = result.meta["val"]
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return result
    made = model.graph.call_function(_DETACH, (result,))
    made.meta = dict(result.meta)
    return made
