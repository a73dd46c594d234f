# SPDX-License-Identifier: BSD-3-Clause
"""`RemovePermuteBeforeMeanPass`."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

from torch.fx import Node

from sdk.backends.cadence.aot.node_pass import NodePass, dim_of, has_one_user, insert, is_call, shape
from sdk.backends.cadence.aot.pass_utils import CadencePassAttribute, get_arg, register_cadence_pass
from sdk.exir.dialects._ops import ops as exir_ops

_aten = exir_ops.edge.aten
_PERMUTE = _aten.permute_copy.default
_LEAST_REDUCTION = 4
"""If the elements of each mean would no longer be contiguous, a permutation is moved after the mean only if there are
at least this many of them."""


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class RemovePermuteBeforeMeanPass(NodePass):
    """Replaces the mean of a permuted tensor by a mean of the tensor over the corresponding dimensions. If the order of
    the remaining dimensions changes, the mean is permuted, which has fewer elements. Quantize, dequantize, clone, relu,
    neg and abs may be in between."""

    _between = (
        *(each.quantize_per_tensor.default for each in (exir_ops.edge.cadence, exir_ops.edge.quantized_decomposed)),
        *(each.dequantize_per_tensor.default for each in (exir_ops.edge.cadence, exir_ops.edge.quantized_decomposed)),
        *(_aten.clone.default, _aten.relu.default, _aten.neg.default, _aten.abs.default),
    )
    targets: ClassVar[tuple[Any, ...]] = (_aten.mean.dim,)

    def rewrite(self, node: Node) -> Node | None:
        chain, permute = self._chain(node)
        dims, keepdim = get_arg(node, "dim"), get_arg(node, "keepdim")
        if permute is None or not dims:
            return None
        rank = len(shape(permute))
        order = [dim_of(int(dim), rank) for dim in permute.args[1]]
        over = [dim_of(dim, rank) for dim in dims]
        kept = [at for at in range(rank) if at not in over]
        found: Any = permute.args[0]
        if keepdim:
            moved = None if all(order[at] == at for at in kept) else order
        else:
            places = [order[at] for at in kept]
            moved = None if places == sorted(places) else [sorted(places).index(place) for place in places]
        new = [order[dim] for dim in over]
        if moved is not None and not self._pays(over, new, shape(found)):
            return None
        for call in reversed(chain):
            found = insert(node, call.target, found, *call.args[1:], **call.kwargs)
        dtype = {"dtype": node.kwargs["dtype"]} if "dtype" in node.kwargs else {}
        mean = insert(node, _aten.mean.dim, found, new, keepdim, **dtype)
        return mean if moved is None else insert(node, _PERMUTE, mean, moved)

    def _chain(self, node: Node) -> tuple[list[Node], Node | None]:
        """Returns the calls before a mean, the last one first, and the permutation before them."""
        chain: list[Node] = []
        source: Any = node.args[0]
        while is_call(source, *self._between) and has_one_user(source):
            chain.append(source)
            source = source.args[0]
        return chain, source if is_call(source, _PERMUTE) and has_one_user(source) else None

    @staticmethod
    def _pays(over: list[int], new: list[int], sizes: list[Any]) -> bool:
        """Whether a mean followed by a permutation takes less time than a permutation followed by a mean."""
        rank = len(sizes)
        last = set(range(rank - len(over), rank))
        if set(over) != last or set(new) == last:
            return True
        return all(isinstance(sizes[dim], int) for dim in new) and prod(sizes[dim] for dim in new) >= _LEAST_REDUCTION
