# SPDX-License-Identifier: BSD-3-Clause
"""Passes that change the order of calls. The passes in this file shorten the lifetime of tensors; those in the
modules `reorder_*` slice before other calls, and move elements while they are quantised."""

from __future__ import annotations

from typing import Any, ClassVar

from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.backends.cadence.aot.node_pass import is_call
from sdk.backends.cadence.aot.pass_utils import CadencePassAttribute, register_cadence_pass
from sdk.backends.cadence.aot.reorder_quantize import (
    AdvanceQuantizeOpAboveDefChainPass,
    AdvanceQuantizeOpAboveDefInBranchPass,
    PostponeDequantizeOpBelowUseChainPass,
    SplitDequantizedCatPass,
)
from sdk.backends.cadence.aot.reorder_slices import (
    MoveSliceBeforePermutePass,
    MoveSliceBeforeViewPass,
    PropagateSlice,
)
from sdk.backends.transforms.postpone_permute_below_squeeze_view import (
    PostponePermuteOpBelowSqueezeOrUnsqueezeLikeView as _PostponePermute,
)
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass

__all__ = [
    "AdvanceQuantizeOpAboveDefChainPass",
    "AdvanceQuantizeOpAboveDefInBranchPass",
    "CadenceReorderOpsInGraph",
    "HoistOpsCloserToDefPass",
    "MoveSliceBeforePermutePass",
    "MoveSliceBeforeViewPass",
    "PostponeDequantizeOpBelowUseChainPass",
    "PostponePermuteOpBelowSqueezeOrUnsqueezeLikeView",
    "PropagateSlice",
    "SinkOpsCloserToUsePass",
    "SplitDequantizedCatPass",
]

_aten = exir_ops.edge.aten
_cadence = exir_ops.edge.cadence
_decomposed = exir_ops.edge.quantized_decomposed
_QUANTIZES = (_cadence.quantize_per_tensor.default, _decomposed.quantize_per_tensor.default)
_DEQUANTIZES = (_cadence.dequantize_per_tensor.default, _decomposed.dequantize_per_tensor.default)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class PostponePermuteOpBelowSqueezeOrUnsqueezeLikeView(_PostponePermute):
    """Moves permutations after views that only add or remove dimensions of size 1."""


class _MovePass(ExportPass):
    """Base of passes that move nodes in the graph without changing them."""

    targets: ClassVar[tuple[Any, ...]] = ()

    def place(self, node: Node, order: dict[Node, int]) -> Node | None:
        """Returns the node after which another is moved, or None to leave it."""
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
    """Moves calls whose result is larger than their operands, such as constants and dequantize, to their first user."""

    targets: ClassVar[tuple[Any, ...]] = (*_DEQUANTIZES, _aten.full.default)

    def place(self, node: Node, order: dict[Node, int]) -> Node | None:
        first = min(node.users, key=lambda user: order[user], default=None)
        return None if first is None or first.prev is node else first.prev


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class HoistOpsCloserToDefPass(_MovePass):
    """Moves calls whose result is smaller than their operand, such as quantize and slices, to the operand's
    definition."""

    targets: ClassVar[tuple[Any, ...]] = (*_QUANTIZES, _aten.slice_copy.Tensor, _aten.select_copy.int)

    def place(self, node: Node, order: dict[Node, int]) -> Node | None:
        source = node.args[0]
        if not isinstance(source, Node):
            return None
        while source.op == "placeholder" and source.next.op == "placeholder":
            source = source.next
        return source


class CadenceReorderOpsInGraph:
    """Passes that change the order of calls. `AdvanceQuantizeOpAboveDefInBranchPass`, which may round twice, and
    `SplitDequantizedCatPass`, which copies more, are not among them."""

    passes: ClassVar[list[Any]] = [
        HoistOpsCloserToDefPass,
        SinkOpsCloserToUsePass,
        PostponeDequantizeOpBelowUseChainPass,
        AdvanceQuantizeOpAboveDefChainPass,
        PostponePermuteOpBelowSqueezeOrUnsqueezeLikeView,
        MoveSliceBeforePermutePass,
        MoveSliceBeforeViewPass,
        PropagateSlice,
    ]
