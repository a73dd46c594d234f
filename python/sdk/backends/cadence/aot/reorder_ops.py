# SPDX-License-Identifier: BSD-3-Clause
"""Passes that change the order of calls: quantised elements are moved instead of floats, slices come first, and tensors
live shorter."""

from __future__ import annotations

from typing import Any, ClassVar

from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.backends.cadence.aot.node_pass import NodePass, dim_of, has_one_user, insert, is_call, shape
from sdk.backends.cadence.aot.pass_utils import CadencePassAttribute, get_arg, register_cadence_pass
from sdk.backends.transforms.postpone_permute_below_squeeze_view import (
    PostponePermuteOpBelowSqueezeOrUnsqueezeLikeView as _PostponePermute,
)
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass

_aten = exir_ops.edge.aten
_cadence = exir_ops.edge.cadence
_decomposed = exir_ops.edge.quantized_decomposed
_QUANTIZES = (_cadence.quantize_per_tensor.default, _decomposed.quantize_per_tensor.default)
_DEQUANTIZES = (_cadence.dequantize_per_tensor.default, _decomposed.dequantize_per_tensor.default)
_MOVES = (
    *(_aten.view_copy.default, _aten.permute_copy.default, _aten.transpose_copy.int, _aten.slice_copy.Tensor),
    *(_aten.select_copy.int, _aten.squeeze_copy.dims, _aten.unsqueeze_copy.default),
)
"""What moves elements of one tensor, and changes none."""


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class AdvanceQuantizeOpAboveDefChainPass(NodePass):
    """Quantises in front of calls that only move elements, if nothing else uses what they move and quantising does not
    become more work."""

    targets: ClassVar[tuple[Any, ...]] = _QUANTIZES

    def rewrite(self, node: Node) -> Node | None:
        chain: list[Node] = []
        source = node.args[0]
        while isinstance(source, Node) and is_call(source, *_MOVES) and has_one_user(source):
            chain.append(source)
            source = source.args[0]
        if not chain or not isinstance(source, Node) or _count(source) != _count(node):
            return None
        found = insert(node, node.target, source, *node.args[1:], **node.kwargs)
        for move in reversed(chain):
            found = insert(node, move.target, found, *move.args[1:], **move.kwargs)
        return found


def _count(node: Node) -> Any:
    count: Any = 1
    for size in shape(node):
        count = count * size
    return count


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class PostponeDequantizeOpBelowUseChainPass(NodePass):
    """Dequantises behind a call that only moves elements."""

    targets: ClassVar[tuple[Any, ...]] = _MOVES

    def rewrite(self, node: Node) -> Node | None:
        dequantize = node.args[0]
        if not isinstance(dequantize, Node) or not is_call(dequantize, *_DEQUANTIZES) or not has_one_user(dequantize):
            return None
        moved = insert(node, node.target, dequantize.args[0], *node.args[1:], **node.kwargs)
        return insert(node, dequantize.target, moved, *dequantize.args[1:], **dequantize.kwargs)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class MoveSliceBeforePermutePass(NodePass):
    """A slice of a permuted tensor is a permuted slice, which moves fewer elements."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.slice_copy.Tensor,)

    def rewrite(self, node: Node) -> Node | None:
        permute = node.args[0]
        if not isinstance(permute, Node) or not is_call(permute, _aten.permute_copy.default):
            return None
        if not has_one_user(permute):
            return None
        order = get_arg(permute, "dims")
        rank = len(order)
        dim = dim_of(order[dim_of(get_arg(node, "dim"), rank)], rank)
        places = [get_arg(node, name) for name in ("start", "end", "step")]
        part = insert(node, _aten.slice_copy.Tensor, permute.args[0], dim, *places)
        return insert(node, _aten.permute_copy.default, part, order)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class PostponePermuteOpBelowSqueezeOrUnsqueezeLikeView(_PostponePermute):
    """Permutes behind views that add or remove dimensions of size 1."""


class _MovePass(ExportPass):
    """Moves nodes in the graph, and changes none."""

    targets: ClassVar[tuple[Any, ...]] = ()

    def place(self, node: Node, order: dict[Node, int]) -> Node | None:
        """The node behind which another is moved; None to leave it."""
        raise NotImplementedError

    def call(self, graph_module: GraphModule) -> PassResult:
        """Moves the calls of `targets`."""
        changed = False
        for module in graph_module.modules():
            if not isinstance(module, GraphModule):
                continue
            order = {node: at for at, node in enumerate(module.graph.nodes)}
            for node in [each for each in module.graph.nodes if is_call(each, *self.targets)]:
                place = self.place(node, order)
                if place is not None and place is not node and place.next is not node:
                    place.append(node)
                    changed = True
            module.recompile()
        return PassResult(graph_module, changed)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class SinkOpsCloserToUsePass(_MovePass):
    """Makes larger tensors of smaller ones in front of their first use: constants, and what is dequantised."""

    targets: ClassVar[tuple[Any, ...]] = (*_DEQUANTIZES, _aten.full.default)

    def place(self, node: Node, order: dict[Node, int]) -> Node | None:
        first = min(node.users, key=lambda user: order[user], default=None)
        return None if first is None or first.prev is node else first.prev


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class HoistOpsCloserToDefPass(_MovePass):
    """Makes smaller tensors of larger ones behind their definition: what is quantised, and slices."""

    targets: ClassVar[tuple[Any, ...]] = (*_QUANTIZES, _aten.slice_copy.Tensor, _aten.select_copy.int)

    def place(self, node: Node, order: dict[Node, int]) -> Node | None:
        source = node.args[0]
        if not isinstance(source, Node):
            return None
        while source.op == "placeholder" and source.next.op == "placeholder":
            source = source.next
        return source


class CadenceReorderOpsInGraph:
    """The passes of this file, in order."""

    passes: ClassVar[list[Any]] = [
        HoistOpsCloserToDefPass,
        SinkOpsCloserToUsePass,
        PostponeDequantizeOpBelowUseChainPass,
        AdvanceQuantizeOpAboveDefChainPass,
        PostponePermuteOpBelowSqueezeOrUnsqueezeLikeView,
        MoveSliceBeforePermutePass,
    ]
