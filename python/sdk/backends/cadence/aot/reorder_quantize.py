# SPDX-License-Identifier: BSD-3-Clause
"""Passes that quantise earlier and dequantise later, so that fewer bytes are moved."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.backends.cadence.aot.node_pass import NodePass, has_one_user, insert, is_call, is_float, shape
from sdk.backends.cadence.aot.pass_utils import CadencePassAttribute, fake_value, get_arg, register_cadence_pass
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass

_aten = exir_ops.edge.aten
_cadence = exir_ops.edge.cadence
_decomposed = exir_ops.edge.quantized_decomposed
_QUANTIZES = (_cadence.quantize_per_tensor.default, _decomposed.quantize_per_tensor.default)
_DEQUANTIZES = (_cadence.dequantize_per_tensor.default, _decomposed.dequantize_per_tensor.default)
_SLICES = (_aten.slice_copy.Tensor, _aten.select_copy.int)
_MOVES = (
    *(_aten.view_copy.default, _aten.permute_copy.default, _aten.transpose_copy.int, _aten.slice_copy.Tensor),
    *(_aten.select_copy.int, _aten.squeeze_copy.dims, _aten.unsqueeze_copy.default),
)
"""Operators that move elements of one tensor without changing them."""


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class AdvanceQuantizeOpAboveDefChainPass(NodePass):
    """Moves quantize before calls that only move elements and keep their number, and before concatenations, where it
    quantises the operands. These calls must have no other users."""

    targets: ClassVar[tuple[Any, ...]] = _QUANTIZES

    def rewrite(self, node: Node) -> Node | None:
        cat = node.args[0]
        if isinstance(cat, Node) and is_call(cat, _aten.cat.default) and has_one_user(cat):
            operands: Any = cat.args[0]
            parts = [insert(node, node.target, each, *node.args[1:], **node.kwargs) for each in operands]
            return insert(node, _aten.cat.default, parts, get_arg(cat, "dim"))
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
    """Moves dequantize after a call that only moves elements. If there are several such calls, each gets a dequantize,
    provided that they together do not have more elements."""

    targets: ClassVar[tuple[Any, ...]] = _MOVES

    def rewrite(self, node: Node) -> Node | None:
        dequantize = node.args[0]
        if not isinstance(dequantize, Node) or not is_call(dequantize, *_DEQUANTIZES):
            return None
        users = list(dequantize.users)
        if len(users) > 1:
            if not all(is_call(user, *_MOVES) for user in users):
                return None
            sizes = [_count(each) for each in (dequantize, *users)]
            if not all(isinstance(size, int) for size in sizes) or sum(sizes[1:]) > sizes[0]:
                return None
        moved = insert(node, node.target, dequantize.args[0], *node.args[1:], **node.kwargs)
        return insert(node, dequantize.target, moved, *dequantize.args[1:], **dequantize.kwargs)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class SplitDequantizedCatPass(NodePass):
    """Duplicates a concatenation of dequantised and other tensors for each set of quantisation parameters of its users,
    so that its operands can be quantised instead."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.cat.default,)

    def maybe_remove_or_replace(self, node: Node) -> bool:
        operands: Any = node.args[0]
        if not all(is_float(each) for each in operands) or not any(is_call(each, *_DEQUANTIZES) for each in operands):
            return False
        groups: dict[Any, list[Node]] = {}
        for user in node.users:
            if is_call(user, *_QUANTIZES):
                groups.setdefault((user.target, *user.args[1:], *user.kwargs.items()), []).append(user)
        if not groups or (len(groups) == 1 and len(next(iter(groups.values()))) == len(node.users) == 1):
            return False
        for users in groups.values():
            copy = insert(node, _aten.cat.default, list(operands), get_arg(node, "dim"))
            for user in users:
                user.replace_input_with(node, copy)
        return True


@register_cadence_pass(CadencePassAttribute(opt_level=2))
class AdvanceQuantizeOpAboveDefInBranchPass(ExportPass):
    """Quantises a tensor once if all of its users quantise moved parts of it. Users whose parameters differ from
    the most frequent ones requantise. It does nothing if the parts are less than half of the tensor, or if requantising
    would saturate a user's numbers."""

    def call(self, graph_module: GraphModule) -> PassResult:
        """Edits the graph and the graphs of its branches."""
        changed = False
        for module in graph_module.modules():
            if not isinstance(module, GraphModule):
                continue
            for node in list(module.graph.nodes):
                made = node.op in ("placeholder", "call_function") and not is_call(node, *_MOVES)
                quantizes = self._quantizes_behind(node) if made and not is_call(node, *_DEQUANTIZES) else []
                if len(quantizes) > 1 or any(each.args[0] is not node for each in quantizes):
                    changed |= self._advance(node, quantizes)
            if changed:
                module.graph.eliminate_dead_code()
                module.recompile()
        return PassResult(graph_module, changed)

    @staticmethod
    def _quantizes_behind(node: Node) -> list[Node]:
        """Returns the calls that quantise a tensor, directly or after moves; an empty list if the tensor has other
        users."""
        waiting, found, moves = list(node.users), [], []
        while waiting:
            user = waiting.pop(0)
            if is_call(user, *_QUANTIZES) and not user.kwargs:
                found.append(user)
            elif is_call(user, *_MOVES):
                moves.append(user)
                waiting += user.users
            else:
                return []
        parts = [each for each in moves if is_call(each, *_SLICES)]
        sliced_only = bool(found) and len(parts) == len(moves)
        if sliced_only and _count(node) > 2 * sum(_count(each) for each in parts):
            return []
        return found

    @staticmethod
    def _advance(node: Node, quantizes: list[Node]) -> bool:
        parameters = Counter((each.target, *each.args[1:]) for each in quantizes)
        target, *chosen = parameters.most_common(1)[0][0]
        low, high = _range(*chosen)
        ranges = [_range(*each[1:]) for each in parameters]
        if any(least < low or most > high for least, most in ranges):
            return False
        before = node.next
        while before.op == "placeholder":
            before = before.next
        users = list(node.users)
        quantized = insert(before, target, node, *chosen)
        for user in users:
            user.replace_input_with(node, quantized)
        dequantize = _DEQUANTIZES[_QUANTIZES.index(target)]
        _refresh(quantized)
        for each in quantizes:
            source = each.args[0]
            each.update_arg(0, insert(each, dequantize, source, *chosen))
        return True


def _range(scale: float, zero: int, least: int, most: int, _dtype: Any) -> tuple[float, float]:
    """Returns the least and the greatest real number that quantisation parameters can represent."""
    return (least - zero) * scale, (most - zero) * scale


def _refresh(node: Node) -> None:
    """Recomputes the fake tensors of the moves after a node."""
    for user in node.users:
        if is_call(user, *_MOVES):
            user.meta["val"] = fake_value(user.target, user.args, dict(user.kwargs), user)
            _refresh(user)
