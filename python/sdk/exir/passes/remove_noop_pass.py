# SPDX-License-Identifier: BSD-3-Clause
"""Removes operators that return their argument unchanged."""

from __future__ import annotations

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir.dialects.edge._ops import EdgeOpOverload
from sdk.exir.pass_base import ExportPass
from sdk.exir.sym_util import are_same_sizes

_COPIES = frozenset(
    {
        "aten::clone",
        "aten::_to_copy",
        "aten::to",
        "aten::expand_copy",
        "aten::view_copy",
        "aten::alias_copy",
        "aten::slice_copy.Tensor",
        "aten::permute_copy",
        "aten::repeat",
        "dim_order_ops::_clone_dim_order",
        "dim_order_ops::_to_dim_order_copy",
    }
)

SLICES = frozenset({"aten::slice_copy.Tensor"})
"""What `to_edge` removes, so that no partitioner sees it. Other copies stay until `to_executorch`."""

_INVERSES = {
    f"quantized_decomposed::dequantize_per_{kind}": f"quantized_decomposed::quantize_per_{kind}"
    for kind in ("tensor", "channel")
}
"""Quantise operators by their inverse, without the overloads whose parameters are tensors of one element."""


class RemoveNoopPass(ExportPass):
    """Removes copies to the same dtype, sizes and layout, and permutations that permute nothing. If such a copy is
    dequantised before and quantised after with the same parameters, these two calls are removed, too.

    A copy that the program returns stays, because an output needs separate memory.
    """

    def call(self, graph_module: GraphModule) -> PassResult:
        removed = 0
        for module in graph_module.modules():
            if isinstance(module, GraphModule):
                removed += remove_noops(module.graph, _COPIES)
                module.recompile()
        return PassResult(graph_module, removed > 0)


def remove_noops(graph: Graph, operators: frozenset[str]) -> int:
    """Does what `RemoveNoopPass` does for calls of the operators in a graph, and returns how many were removed."""
    removed = 0
    for node in list(graph.nodes):
        if is_noop(node) and node.target.name() in operators and not _is_returned(node):
            source, users = node.args[0], list(node.users)
            node.replace_all_uses_with(source)
            graph.erase_node(node)
            _keep_integers(source, users)
            removed += 1
    return removed


def _is_returned(node: Node) -> bool:
    return any(user.op == "output" for user in node.users)


def _keep_integers(dequantized: Node, users: list[Node]) -> None:
    """Replaces the users that quantise what was just dequantised, with the same parameters, by the integers."""
    for quantize in users:
        if _is_inverse(quantize, dequantized) and not _is_returned(quantize):
            quantize.replace_all_uses_with(dequantized.args[0])
            quantize.graph.erase_node(quantize)
    if users and not dequantized.users:
        dequantized.graph.erase_node(dequantized)


def _is_inverse(quantize: Node, dequantized: Node) -> bool:
    """Whether quantising what was dequantised gives back every integer. A narrower range clamps some integers, and
    float32 does not represent every int32."""
    if not isinstance(dequantized.target, EdgeOpOverload) or not isinstance(quantize.target, EdgeOpOverload):
        return False
    if _INVERSES.get(dequantized.target.name()) != quantize.target.name() or dequantized.kwargs or quantize.kwargs:
        return False
    low, high, dtype = quantize.args[-3:]
    limits = torch.iinfo(dtype)
    whole = limits.bits <= 16 and (low, high) == (limits.min, limits.max)
    return whole and dequantized.args[1:] == quantize.args[1:]


class RemoveToCopyPass(ExportPass):
    """Removes `_to_copy` to the same dtype, device, sizes and strides, on graphs in ATen dialect."""

    def call(self, graph_module: GraphModule) -> PassResult:
        for node in graph_module.graph.find_nodes(op="call_function", target=torch.ops.aten._to_copy.default):
            if is_noop(node) and node.args[0].meta["val"].device == node.meta["val"].device:
                node.replace_all_uses_with(node.args[0])
                graph_module.graph.erase_node(node)
        graph_module.recompile()
        return PassResult(graph_module, True)


def is_noop(node: Node) -> bool:
    """Whether a node returns exactly its first argument."""
    if node.op != "call_function" or not isinstance(node.target, (EdgeOpOverload, torch._ops.OpOverload)):
        return False
    if node.target.name() not in _COPIES or not isinstance(node.args[0], Node):
        return False
    source, result = node.args[0].meta.get("val"), node.meta.get("val")
    if not isinstance(source, torch.Tensor) or not isinstance(result, torch.Tensor):
        return False
    if node.target.name() == "aten::permute_copy" and list(node.args[1]) != list(range(source.dim())):
        return False
    if node.target.name() == "aten::slice_copy.Tensor" and len(node.args) > 4 and node.args[4] != 1:
        return False
    return (
        source.dtype == result.dtype
        and are_same_sizes(source.stride(), result.stride())
        and are_same_sizes(source.shape, result.shape)
    )
