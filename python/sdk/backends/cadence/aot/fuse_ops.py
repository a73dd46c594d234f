# SPDX-License-Identifier: BSD-3-Clause
"""Passes that make one call of several."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from torch.fx import Node

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
_QUANTIZES = (_cadence.quantize_per_tensor.default, _decomposed.quantize_per_tensor.default)
_DEQUANTIZES = (_cadence.dequantize_per_tensor.default, _decomposed.dequantize_per_tensor.default)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class FuseMMWithAdd(NodePass):
    """A product of matrices and a sum with a row, or with one number for each result, are addmm."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.add.Tensor,)

    def rewrite(self, node: Node) -> Node | None:
        if node.kwargs:
            return None
        for product, bias in (node.args[:2], node.args[1::-1]):
            if not isinstance(product, Node) or not isinstance(bias, Node):
                continue
            if not is_call(product, _aten.mm.default) or not has_one_user(product) or len(shape(bias)) > 2:
                continue
            if same_shape(product, node) and dtype_of(bias) == dtype_of(product):
                return insert(node, _aten.addmm.default, bias, *product.args)
        return None


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class FuseCascadedTransposeOrPermuteOps(_FusePermutes):
    """Permutations in sequence are one."""


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class FuseCascadedViewOps(_FuseViews):
    """Views in sequence are one."""


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class FuseQuantDequantToRequantizePass(NodePass):
    """Dequantize and quantize are requantize, or nothing if their parameters are the same."""

    targets: ClassVar[tuple[Any, ...]] = _QUANTIZES

    def __init__(self, force_quant_dequant_fusion: bool = False) -> None:
        super().__init__()
        self.force_quant_dequant_fusion = force_quant_dequant_fusion

    def rewrite(self, node: Node) -> Node | None:
        dequantize = node.args[0]
        if not isinstance(dequantize, Node) or not is_call(dequantize, *_DEQUANTIZES):
            return None
        source = dequantize.args[0]
        assert isinstance(source, Node)
        before = [get_arg(dequantize, name) for name in ("scale", "zero_point")]
        after = [get_arg(node, name) for name in ("scale", "zero_point")]
        dtype = get_arg(node, "dtype")
        if not all(isinstance(each, (int, float)) for each in (*before, *after)):
            return None
        if before == after and dtype == dtype_of(source):
            return source
        # A scale that is made for another range than the dtype's clamps elsewhere.
        return insert(node, _cadence.requantize.per_tensor, source, *before, *after, dtype)


def _with_scale(node: Node, quantize: Node, source: Any, scale: float) -> Node | None:
    if not math.isfinite(scale) or scale <= 0:
        return None
    return insert(node, quantize.target, source, scale, *quantize.args[2:], **quantize.kwargs)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class FuseMulScalarIntoDequantPass(NodePass):
    """A factor behind dequantize is one of its scale."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.mul.Scalar,)

    def rewrite(self, node: Node) -> Node | None:
        dequantize, factor = node.args[0], node.args[1]
        if not isinstance(dequantize, Node) or not is_call(dequantize, *_DEQUANTIZES) or not has_one_user(dequantize):
            return None
        assert isinstance(factor, (int, float))
        return _with_scale(node, dequantize, dequantize.args[0], get_arg(dequantize, "scale") * factor)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class FuseMulTensorIntoDequantPass(NodePass):
    """A factor, as a constant tensor, behind dequantize is one of its scale."""

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
    """A factor, as a constant tensor, in front of quantize divides its scale."""

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
    """A constant of another shape is a constant."""

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
    """A slice of a slice along one dimension is a slice."""

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
        places = range(size)[slice(*bounds[0])][slice(*bounds[1])]
        return insert(
            node, _aten.slice_copy.Tensor, source, dim, places.start, max(places.start, places.stop), places.step
        )


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class HierarchicalCSEPass(CSEPass):
    """Calls with the same arguments are one."""


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class FuseTransposeOrPermuteOpPairsPass(NodePass):
    """Permutations before and behind an operator of one operand that undo each other are removed."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.permute_copy.default, _aten.transpose_copy.int)
    _passed = (*_QUANTIZES, *_DEQUANTIZES, _cadence.requantize.per_tensor, _aten.relu.default)

    def rewrite(self, node: Node) -> Node | None:
        middle = node.args[0]
        if not isinstance(middle, Node) or not is_call(middle, *self._passed) or not has_one_user(middle):
            return None
        first = middle.args[0]
        if not isinstance(first, Node) or not is_call(first, *self.targets):
            return None
        orders = [_order(each) for each in (first, node)]
        if [orders[0][at] for at in orders[1]] != list(range(len(orders[0]))):
            return None
        return insert(node, middle.target, first.args[0], *middle.args[1:], **middle.kwargs)


def _order(node: Node) -> list[int]:
    """The permutation of a call of permute_copy or transpose_copy."""
    rank = value(node).dim()
    if node.target == _aten.permute_copy.default:
        return [dim_of(int(dim), rank) for dim in node.args[1]]
    order = list(range(rank))
    first, second = (dim_of(int(dim), rank) for dim in node.args[1:3])
    order[first], order[second] = order[second], order[first]
    return order


class CadenceFuseOpsInGraph:
    """The passes of this file, in order."""

    passes: ClassVar[list[Any]] = [
        FuseMMWithAdd,
        FuseCascadedTransposeOrPermuteOps,
        FuseCascadedViewOps,
        FuseQuantDequantToRequantizePass,
        FuseMulTensorIntoQuantPass,
        FuseMulTensorIntoDequantPass,
        FuseMulScalarIntoDequantPass,
        FuseFullThenReshapePass,
        FuseTransposeOrPermuteOpPairsPass,
        FuseSliceSameDimPass,
    ]
