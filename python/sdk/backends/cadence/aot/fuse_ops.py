# SPDX-License-Identifier: BSD-3-Clause
"""Passes that replace several calls by one."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch
from torch.fx import Node

from sdk.backends.cadence.aot.fuse_batch_norm import FuseBatchNormWithConv, FuseQuantizedBatchNormWithConv
from sdk.backends.cadence.aot.node_pass import (
    NodePass,
    constant_of,
    dim_of,
    dtype_of,
    has_one_user,
    insert,
    is_call,
    same_shape,
    shape,
    value,
)
from sdk.backends.cadence.aot.pass_utils import CadencePassAttribute, get_arg, register_cadence_pass
from sdk.backends.transforms.fuse_cascaded_transpose_or_permute_ops import (
    FuseCascadedTransposeOrPermuteOps as _FusePermutes,
)
from sdk.backends.transforms.fuse_cascaded_view_ops import FuseCascadedViewOps as _FuseViews
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.passes.cse_pass import CSEPass

_aten = exir_ops.edge.aten
_cadence = exir_ops.edge.cadence
_decomposed = exir_ops.edge.quantized_decomposed
_FULL = _aten.full.default
_PARAMETERS = ("scale", "zero_point", "quant_min", "quant_max", "dtype")
_MOVES = (
    *(_aten.slice_copy.Tensor, _aten.view_copy.default, _aten.clone.default),
    *(_aten.transpose_copy.int, _aten.permute_copy.default),
)
_QUANTIZES = (_cadence.quantize_per_tensor.default, _decomposed.quantize_per_tensor.default)
_DEQUANTIZES = (_cadence.dequantize_per_tensor.default, _decomposed.dequantize_per_tensor.default)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class FuseMMWithAdd(NodePass):
    """Replaces a matrix multiplication and the addition of a row or of a matrix by addmm, also if a view is between
    them. A sum with several users stays."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.add.Tensor,)

    def rewrite(self, node: Node) -> Node | None:
        if node.kwargs or not has_one_user(node):
            return None
        for product, bias in (node.args[:2], node.args[1::-1]):
            if isinstance(product, Node) and isinstance(bias, Node) and same_shape(product, node):
                found = self._fused(node, product, bias)
                if found is not None:
                    return found
        return None

    @staticmethod
    def _fused(node: Node, product: Node, bias: Node) -> Node | None:
        is_viewed = is_call(product, _aten.view_copy.default) and has_one_user(product)
        mm: Any = product.args[0] if is_viewed else product
        if not is_call(mm, _aten.mm.default) or not has_one_user(mm) or len(shape(bias)) > (1 if is_viewed else 2):
            return None
        if shape(mm)[-1] != shape(node)[-1]:
            return None
        number = constant_of(bias, _FULL)
        if dtype_of(bias) != dtype_of(mm):
            if number is None:
                return None
            bias = insert(node, _FULL, shape(bias), number, dtype=dtype_of(mm))
        sum_ = insert(node, _aten.addmm.default, bias, *mm.args)
        return insert(node, _aten.view_copy.default, sum_, shape(node)) if is_viewed else sum_


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class FuseCascadedTransposeOrPermuteOps(_FusePermutes):
    """Replaces consecutive permutations by one."""


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class FuseCascadedViewOps(_FuseViews):
    """Replaces consecutive views by one."""


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class FuseQuantDequantToRequantizePass(NodePass):
    """Replaces dequantize and quantize, with moves between them, by requantize, or removes them if their parameters are
    equal. Also removes quantize, views and dequantize with equal parameters, which drops the rounding.

    Args:
        allow_requantize: Whether pairs with other parameters become requantize.
        force_quant_dequant_fusion: Whether all moves may be between quantize and dequantize.
        keep_rounding: Whether quantize and dequantize stay.
    """

    targets: ClassVar[tuple[Any, ...]] = (*_QUANTIZES, *_DEQUANTIZES)

    def __init__(
        self,
        allow_requantize: bool = True,
        force_quant_dequant_fusion: bool = False,
        keep_rounding: bool = False,
    ) -> None:
        super().__init__()
        self.allow_requantize = allow_requantize
        self.force_quant_dequant_fusion = force_quant_dequant_fusion
        self.keep_rounding = keep_rounding

    def rewrite(self, node: Node) -> Node | None:
        is_quantize = is_call(node, *_QUANTIZES)
        allowed = _MOVES if is_quantize or self.force_quant_dequant_fusion else (_aten.view_copy.default,)
        moves, first = _behind_moves(node, allowed)
        if first is None or not is_call(first, *(_DEQUANTIZES if is_quantize else _QUANTIZES)):
            return None
        before, after = ([get_arg(each, name) for name in _PARAMETERS] for each in (first, node))
        if not all(isinstance(each, (int, float)) for each in (*before[:2], *after[:2])):
            return None
        source: Any = first.args[0]
        if before == after:
            keeps = not is_quantize and (self.keep_rounding or not has_one_user(first))
            return None if keeps else self._moved(node, source, moves)
        if not is_quantize or not self.allow_requantize:
            return None
        return self._moved(node, self._requantized(node, source, before, after), moves)

    @staticmethod
    def _moved(node: Node, found: Node, moves: list[Node]) -> Node:
        for move in reversed(moves):
            found = insert(node, move.target, found, *move.args[1:], **move.kwargs)
        return found

    @staticmethod
    def _requantized(node: Node, source: Node, before: list[Any], after: list[Any]) -> Node:
        low, high, dtype = after[2:]
        found = insert(node, _cadence.requantize.per_tensor, source, *before[:2], *after[:2], dtype)
        limits = torch.iinfo(dtype)
        if (low, high) == (limits.min, limits.max):
            return found
        return insert(node, _aten.clamp.default, found, low, high)


def _behind_moves(node: Node, allowed: tuple[Any, ...]) -> tuple[list[Node], Node | None]:
    """Returns the consecutive moves before a call, the last one first, and the tensor that they move."""
    moves: list[Node] = []
    source = node.args[0]
    while isinstance(source, Node) and is_call(source, *allowed) and has_one_user(source):
        moves.append(source)
        source = source.args[0]
    return moves, source if isinstance(source, Node) else None


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class FuseDequantQuantToRequantizePass(FuseQuantDequantToRequantizePass):
    """`FuseQuantDequantToRequantizePass` without the rewrites that change results."""

    def __init__(self) -> None:
        super().__init__(keep_rounding=True)


def _with_scale(node: Node, quantize: Node, source: Any, scale: float) -> Node | None:
    if not math.isfinite(scale) or scale <= 0:
        return None
    return insert(node, quantize.target, source, scale, *quantize.args[2:], **quantize.kwargs)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class FuseMulScalarIntoDequantPass(NodePass):
    """Multiplies the scale of dequantize by a factor that follows it."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.mul.Scalar,)

    def rewrite(self, node: Node) -> Node | None:
        dequantize, factor = node.args[0], node.args[1]
        if not isinstance(dequantize, Node) or not is_call(dequantize, *_DEQUANTIZES) or not has_one_user(dequantize):
            return None
        assert isinstance(factor, (int, float))
        return _with_scale(node, dequantize, dequantize.args[0], get_arg(dequantize, "scale") * factor)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class FuseMulTensorIntoDequantPass(NodePass):
    """Multiplies the scale of dequantize by a factor, a constant tensor, that follows it."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.mul.Tensor,)

    def rewrite(self, node: Node) -> Node | None:
        for dequantize, constant in (node.args[:2], node.args[1::-1]):
            factor = constant_of(constant, _FULL)
            if factor is None or not isinstance(dequantize, Node) or not is_call(dequantize, *_DEQUANTIZES):
                continue
            if has_one_user(dequantize) and same_shape(dequantize, node):
                return _with_scale(node, dequantize, dequantize.args[0], get_arg(dequantize, "scale") * factor)
        return None


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class FuseMulTensorIntoQuantPass(NodePass):
    """Divides the scale of quantize by a factor, a constant tensor, that comes before it."""

    targets: ClassVar[tuple[Any, ...]] = _QUANTIZES

    def rewrite(self, node: Node) -> Node | None:
        product = node.args[0]
        if not isinstance(product, Node) or not is_call(product, _aten.mul.Tensor) or not has_one_user(product):
            return None
        for source, constant in (product.args[:2], product.args[1::-1]):
            factor = constant_of(constant, _FULL)
            if factor and isinstance(source, Node) and same_shape(source, product):
                return _with_scale(node, node, source, get_arg(node, "scale") / factor)
        return None


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class FuseFullThenReshapePass(NodePass):
    """Replaces the view of a constant by a constant of that shape."""

    targets: ClassVar[tuple[Any, ...]] = (
        _aten.transpose_copy.int,
        _aten.permute_copy.default,
        _aten.view_copy.default,
        _aten.slice_copy.Tensor,
        _aten.select_copy.int,
        _aten.expand_copy.default,
        _aten.unsqueeze_copy.default,
        _aten.squeeze_copy.dims,
    )

    def rewrite(self, node: Node) -> Node | None:
        number = constant_of(node.args[0], _FULL)
        if number is None or not all(isinstance(size, int) for size in shape(node)):
            return None
        return insert(node, _FULL, shape(node), number, dtype=dtype_of(node))


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class FuseSliceSameDimPass(NodePass):
    """Replaces a slice of a slice with step 1 along the same dimension by one slice."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.slice_copy.Tensor,)

    def rewrite(self, node: Node) -> Node | None:
        inner = node.args[0]
        if not isinstance(inner, Node) or not is_call(inner, _aten.slice_copy.Tensor):
            return None
        rank, source = len(shape(inner)), inner.args[0]
        dim = dim_of(get_arg(node, "dim"), rank)
        size = shape(source)[dim]
        if dim != dim_of(get_arg(inner, "dim"), rank) or not isinstance(size, int):
            return None
        bounds = [[get_arg(each, name) for name in ("start", "end", "step")] for each in (inner, node)]
        if not all(each is None or isinstance(each, int) for pair in bounds for each in pair):
            return None
        if bounds[0][2] != 1:
            return None
        places = range(size)[slice(*bounds[0])][slice(*bounds[1])]
        return insert(
            node, _aten.slice_copy.Tensor, source, dim, places.start, max(places.start, places.stop), places.step
        )


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class HierarchicalCSEPass(CSEPass):
    """Merges calls that have the same arguments."""


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class FuseTransposeOrPermuteOpPairsPass(NodePass):
    """Removes permutations before and after an operator with one operand if they undo each other. A view restores the
    positions of dimensions of size 1."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.permute_copy.default, _aten.transpose_copy.int)
    _passed = (
        *(*_QUANTIZES, *_DEQUANTIZES, _cadence.requantize.per_tensor),
        *(_cadence.quantized_relu.per_tensor, _aten.relu.default),
    )

    def rewrite(self, node: Node) -> Node | None:
        middle = node.args[0]
        if not isinstance(middle, Node) or not is_call(middle, *self._passed) or not has_one_user(middle):
            return None
        first = middle.args[0]
        if not isinstance(first, Node) or not is_call(first, *self.targets):
            return None
        source: Any = first.args[0]
        orders = [_order(each) for each in (first, node)]
        moved = [dim for dim in (orders[0][at] for at in orders[1]) if shape(source)[dim] != 1]
        if moved != sorted(moved):
            return None
        found = insert(node, middle.target, source, *middle.args[1:], **middle.kwargs)
        return found if same_shape(found, node) else insert(node, _aten.view_copy.default, found, shape(node))


def _order(node: Node) -> list[int]:
    """Returns the permutation of a call of permute_copy or transpose_copy."""
    rank = value(node).dim()
    if node.target == _aten.permute_copy.default:
        return [dim_of(int(dim), rank) for dim in node.args[1]]
    order = list(range(rank))
    first, second = (dim_of(int(dim), rank) for dim in node.args[1:3])
    order[first], order[second] = order[second], order[first]
    return order


class CadenceFuseOpsInGraph:
    """Passes that fuse calls, in order. `FuseQuantDequantToRequantizePass` changes results and is not among them."""

    passes: ClassVar[list[Any]] = [
        FuseMMWithAdd,
        FuseBatchNormWithConv,
        FuseQuantizedBatchNormWithConv,
        FuseCascadedTransposeOrPermuteOps,
        FuseCascadedViewOps,
        FuseDequantQuantToRequantizePass,
        FuseMulTensorIntoQuantPass,
        FuseMulTensorIntoDequantPass,
        FuseMulScalarIntoDequantPass,
        FuseFullThenReshapePass,
        FuseTransposeOrPermuteOpPairsPass,
        FuseSliceSameDimPass,
    ]
