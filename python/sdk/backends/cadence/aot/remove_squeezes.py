# SPDX-License-Identifier: BSD-3-Clause
"""`RemoveSqueezeViewBeforeElementwiseOps`."""

from __future__ import annotations

from typing import Any

from torch.fx import GraphModule, Node

from sdk.backends.cadence.aot.node_pass import dim_of, has_one_user, is_call, shape, value
from sdk.backends.cadence.aot.pass_utils import (
    CadencePassAttribute,
    HierarchicalInplacePassInterface,
    fake_value,
    get_arg,
    register_cadence_pass,
    set_arg,
)
from sdk.exir.dialects._ops import ops as exir_ops

_aten = exir_ops.edge.aten
_cadence = exir_ops.edge.cadence
_decomposed = exir_ops.edge.quantized_decomposed
_VIEW = _aten.view_copy.default
_SLICE = _aten.slice_copy.Tensor
_PASSED = (
    *(_decomposed.quantize_per_tensor.default, _decomposed.dequantize_per_tensor.default),
    *(_cadence.quantize_per_tensor.default, _cadence.dequantize_per_tensor.default, _SLICE),
)


def _squeezed(view: Node) -> list[int]:
    """Returns the dimensions of size 1 that a view removes; an empty list for other views."""
    before, after = shape(view.args[0]), shape(view)
    removed: list[int] = []
    at = 0
    for dim, size in enumerate(before):
        if at < len(after) and size == after[at]:
            at += 1
        elif size == 1:
            removed.append(dim)
        else:
            return []
    return removed if at == len(after) else []


@register_cadence_pass(CadencePassAttribute(opt_level=2))
class RemoveSqueezeViewBeforeElementwiseOps(HierarchicalInplacePassInterface):
    """Removes a view that drops dimensions of size 1 if quantize, dequantize or slice calls and another view follow it.
    These calls then take the tensor with the dimensions."""

    def _apply_flat_inplace(self, graph_module: GraphModule) -> bool:
        seen: set[Node] = set()
        changed = False
        for view in graph_module.graph.find_nodes(op="call_function", target=_VIEW):
            dims = [] if view in seen else _squeezed(view)
            chain = self._chain(view) if dims else None
            if chain is None:
                continue
            seen.add(chain.pop())
            self._keep(view, chain, dims)
            changed = True
        return changed

    @staticmethod
    def _chain(view: Node) -> list[Node] | None:
        """Returns the calls after a view up to the next view, if each has one user."""
        chain: list[Node] = []
        node = view
        while has_one_user(node):
            node = next(iter(node.users))
            chain.append(node)
            if is_call(node, _VIEW):
                return chain
            if not is_call(node, *_PASSED):
                return None
        return None

    @staticmethod
    def _keep(view: Node, chain: list[Node], dims: list[int]) -> None:
        rank = value(view).dim()
        source: Any = view.args[0]
        view.replace_all_uses_with(source)
        for node in chain:
            if node.target == _SLICE:
                dim = dim_of(get_arg(node, "dim"), rank)
                for removed in dims:
                    dim += dim >= removed
                set_arg(node, "dim", dim)
            node.meta["val"] = fake_value(node.target, node.args, dict(node.kwargs), node)
