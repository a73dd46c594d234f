# SPDX-License-Identifier: BSD-3-Clause
"""Passes over graphs of language models as `torch.export` captures them."""

from __future__ import annotations

import logging
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir.pass_base import ExportPass
from sdk.exir.sym_util import are_same_sizes
from sdk.extension.llm.custom_ops import custom_ops  # noqa: F401, registers torch.ops.llama

aten = torch.ops.aten
logger = logging.getLogger("sdk.extension.llm.export")


class RemoveRedundantTransposes(ExportPass):
    """Removes pairs of `transpose` and `permute` that cancel each other. Both are views; operators that copy stay."""

    def call(self, graph_module: GraphModule) -> PassResult:
        """Changes the graph in place."""
        changed = False
        for node in graph_module.graph.nodes:
            before = _order(node)
            inner = node.args[0] if before is not None else None
            order = _order(inner) if isinstance(inner, Node) else None
            if before is None or order is None or [order[d] for d in before] != list(range(len(before))):
                continue
            assert isinstance(inner, Node)
            node.replace_all_uses_with(inner.args[0])
            changed = True
        if changed:
            graph_module.graph.eliminate_dead_code()
            graph_module.recompile()
        return PassResult(graph_module, changed)


def _order(node: Node) -> list[int] | None:
    """Returns, for each dimension of a view, the dimension of its input; None for other operators."""
    if node.target not in (aten.transpose.int, aten.permute.default) or not isinstance(node.args[0], Node):
        return None
    rank = node.args[0].meta["val"].dim()
    if node.target is aten.permute.default:
        return [d % rank for d in node.args[1]]
    order = list(range(rank))
    first, second = (d % rank for d in node.args[1:3])
    order[first], order[second] = order[second], order[first]
    return order


class ReplaceSDPAWithCustomSDPAPass(ExportPass):
    """`scaled_dot_product_attention` of [batch, heads, positions, head_dim] becomes `llama::custom_sdpa`.

    Calls that this operator does not support stay: masks that differ between batches or heads, other ranks, dropout.
    """

    def __init__(self, assume_causal_mask: bool = False) -> None:
        """`assume_causal_mask`: every mask is causal, so that none is read."""
        super().__init__()
        self.assume_causal_mask = assume_causal_mask

    def call(self, graph_module: GraphModule) -> PassResult:
        """Changes the graph in place."""
        changed = False
        for node in list(graph_module.graph.nodes):
            if node.target is aten.scaled_dot_product_attention.default:
                with graph_module.graph.inserting_before(node):
                    changed |= self._replaced(_Graph(graph_module), node)
        if changed:
            graph_module.graph.eliminate_dead_code()
            graph_module.recompile()
        return PassResult(graph_module, changed)

    def _replaced(self, graph: _Graph, node: Node) -> bool:
        names = [argument.name for argument in node.target._schema.arguments]
        given = dict(zip(names, node.args, strict=False)) | node.kwargs
        query, key, value = (given[name] for name in names[:3])
        mask, causal = given.get("attn_mask"), bool(given.get("is_causal", False))
        if self.assume_causal_mask:
            mask, causal = None, True
        vals = [graph.val(part) for part in (query, key, value)]
        mask_val = None if mask is None else graph.val(mask)
        if (why := _kept(vals, mask_val, given.get("dropout_p", 0.0))) is not None:
            logger.info("%s stays: %s", node.name, why)
            return False
        seen = (vals[0].shape[2], vals[1].shape[2])
        if mask_val is not None:
            if mask_val.dim() > 2:
                mask = graph.call(aten.squeeze.dims, mask, list(range(mask_val.dim() - 2)))
            if not are_same_sizes(mask_val.shape[-2:], seen):  # the operator does not broadcast masks
                mask = graph.call(aten.expand.default, mask, graph.lengths(query, key))
        elif not causal and seen[0] != seen[1]:
            # Without a mask, the operator sees as many keys as there are queries.
            mask = graph.call(aten.new_zeros.default, query, graph.lengths(query, key))
        parts = [graph.swapped(part) for part in (query, key, value)]
        y = graph.call(torch.ops.llama.custom_sdpa.default, *parts, 0, mask, 0.0, causal, given.get("scale"))
        node.replace_all_uses_with(graph.swapped(y))
        graph.module.graph.erase_node(node)  # as dropout draws numbers, the node is never dead code
        return True


class _Graph:
    """Adds operators to a graph, with the values that they give."""

    def __init__(self, module: GraphModule) -> None:
        self.module = module

    def val(self, node: Any) -> Any:
        """Returns the value of an argument: a fake tensor or a size if it is a node, else the argument."""
        if not isinstance(node, Node):
            return node
        if "val" not in node.meta and node.op == "get_attr":
            return _attribute(self.module, str(node.target))
        return node.meta["val"]

    def call(self, target: Any, *args: Any) -> Node:
        """A new node."""
        node = self.module.graph.call_function(target, args)
        node.meta["val"] = target(*torch.fx.map_arg(args, self.val))
        return node

    def lengths(self, *parts: Node) -> list[Node]:
        """How many positions [batch, heads, positions, head_dim] have."""
        return [self.call(aten.sym_size.int, part, 2) for part in parts]

    def swapped(self, x: Node) -> Node:
        """[batch, positions, heads, head_dim], or back."""
        return self.call(aten.contiguous.default, self.call(aten.transpose.int, x, 1, 2))


def _attribute(module: Any, path: str) -> Any:
    """The attribute of a module, or of one inside of it."""
    for name in path.split("."):
        module = getattr(module, name)
    return module


def _kept(vals: list[torch.Tensor], mask: torch.Tensor | None, dropout: float) -> str | None:
    """Why the operator is not replaced."""
    ranks = [val.dim() for val in vals]
    if ranks != [4, 4, 4]:
        return f"queries, keys and values have {ranks} dimensions, not 4"
    if vals[1].shape != vals[2].shape:
        return "keys and values differ in their shape"
    if dropout:
        return f"it has dropout_p={dropout}"
    if mask is not None and any(size != 1 for size in mask.shape[:-2]):
        return f"its mask has the shape {list(mask.shape)}, which differs between batches or heads"
    return None
