# SPDX-License-Identifier: BSD-3-Clause
"""Passes that move slices before other calls, which then process fewer elements."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

from torch.fx import Node

from sdk.backends.cadence.aot.node_pass import NodePass, dim_of, has_one_user, insert, is_call, shape
from sdk.backends.cadence.aot.pass_utils import CadencePassAttribute, get_arg, register_cadence_pass
from sdk.exir.dialects._ops import ops as exir_ops

_aten = exir_ops.edge.aten
_cadence = exir_ops.edge.cadence
_decomposed = exir_ops.edge.quantized_decomposed
_SLICE = _aten.slice_copy.Tensor


def _is_fixed(*nodes: Any) -> bool:
    return all(isinstance(size, int) for node in nodes for size in shape(node))


class _SlicePass(NodePass):
    """A pass over slices."""

    targets: ClassVar[tuple[Any, ...]] = (_SLICE,)

    @staticmethod
    def place(node: Node) -> tuple[int, list[Any]]:
        """Returns the dimension of a slice, its bounds and its step."""
        return dim_of(get_arg(node, "dim"), len(shape(node))), [get_arg(node, n) for n in ("start", "end", "step")]


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class MoveSliceBeforePermutePass(_SlicePass):
    """Slices before a permutation, which then moves fewer elements. A slice along the outermost dimension may cost
    nothing where it is, and is only moved if it removes more than half of the elements."""

    def rewrite(self, node: Node) -> Node | None:
        permute = node.args[0]
        if not isinstance(permute, Node) or not is_call(permute, _aten.permute_copy.default):
            return None
        if not has_one_user(permute) or not _is_fixed(permute):
            return None
        dim, bounds = self.place(node)
        if dim == 0 and prod(shape(permute)) <= 2 * prod(shape(node)):
            return None
        order = get_arg(permute, "dims")
        part = insert(node, _SLICE, permute.args[0], dim_of(order[dim], len(order)), *bounds)
        return insert(node, _aten.permute_copy.default, part, order)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class MoveSliceBeforeViewPass(_SlicePass):
    """Slices before a view, if a slice of the unreshaped tensor has the same elements."""

    def rewrite(self, node: Node) -> Node | None:
        view = node.args[0]
        if not isinstance(view, Node) or not is_call(view, _aten.view_copy.default):
            return None
        source = view.args[0]
        if not _is_fixed(source, view, node) or not prod(shape(node)):
            return None
        dim, (start, end, step) = self.place(node)
        if not all(each is None or isinstance(each, int) for each in (start, end, step)):
            return None
        taken = range(shape(view)[dim])[slice(start, end, step)]
        place = _same_elements(shape(source), shape(view), dim, taken)
        if place is None:
            return None
        return insert(node, _aten.view_copy.default, insert(node, _SLICE, source, *place), shape(node))


def _same_elements(before: list[int], after: list[int], dim: int, taken: range) -> tuple[int, int, int, int] | None:
    """Returns dimension, start, end and step of the slice before a view that has the elements of a slice after it, or
    None."""
    stride, size = prod(after[dim + 1 :]), after[dim]
    for at, own in enumerate(before):
        inner = prod(before[at + 1 :])
        if (inner, own) == (stride, size):
            return at, taken.start, taken.stop, taken.step
        first, last = taken.start * stride, (taken[-1] + 1) * stride
        if taken.step == 1 and size * stride == own * inner and first % inner == last % inner == 0:
            return at, first // inner, last // inner, 1
        # A single index of the innermost factor of a dimension selects every size-th of its elements.
        if len(taken) == 1 and size > 1 and inner == stride and own % size == 0:
            return at, taken.start, own, size
    return None


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class PropagateSlice(_SlicePass):
    """Slices before quantize and dequantize, and before additions and multiplications of operands with different
    shapes. Operands that are broadcast along the dimension are not sliced."""

    _of_one = (
        *(_decomposed.quantize_per_tensor.default, _cadence.quantize_per_tensor.default),
        *(_decomposed.dequantize_per_tensor.default, _cadence.dequantize_per_tensor.default),
    )
    _of_two = (_aten.add.Tensor, _aten.mul.Tensor)

    def rewrite(self, node: Node) -> Node | None:
        call = node.args[0]
        if not isinstance(call, Node) or not is_call(call, *self._of_one, *self._of_two) or not has_one_user(call):
            return None
        if not _is_fixed(call, node) or prod(shape(node)) >= prod(shape(call)):
            return None
        dim, bounds = self.place(node)
        operands = call.args[: 1 if call.target in self._of_one else 2]
        if len(operands) == 2 and shape(operands[0]) == shape(operands[1]):
            return None
        behind = len(shape(call)) - dim

        def part(operand: Any) -> Any:
            sizes = shape(operand)
            own = len(sizes) - behind
            broadcast = own < 0 or sizes[own] != shape(call)[dim]
            return operand if broadcast else insert(node, _SLICE, operand, own, *bounds)

        rest = call.args[len(operands) :]
        return insert(node, call.target, *(part(operand) for operand in operands), *rest, **call.kwargs)
