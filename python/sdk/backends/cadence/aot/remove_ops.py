# SPDX-License-Identifier: BSD-3-Clause
"""Passes that remove calls without effect."""

from __future__ import annotations

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
from sdk.backends.transforms.remove_permutes_around_elementwise_ops import (
    RemovePermutesAroundElementwiseOps as _RemovePermutes,
)
from sdk.exir.dialects._ops import ops as exir_ops

_aten = exir_ops.edge.aten
_cadence = exir_ops.edge.cadence
_FULL = _aten.full.default


def _source(node: Node) -> Node:
    source = node.args[0]
    assert isinstance(source, Node)
    return source


def _same_layout(node: Node) -> Node | None:
    """The operand of a copy that has the layout of the result. A result of the graph must not be an input."""
    source = _source(node)
    is_result = any(user.op == "output" for user in node.users)
    same = dtype_of(source) == dtype_of(node) and value(source).stride() == value(node).stride()
    return source if same and not (source.op == "placeholder" and is_result) else None


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class RemoveCloneOpsTransformImported(NodePass):
    """Removes copies that keep the layout."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.clone.default,)

    def rewrite(self, node: Node) -> Node | None:
        return _same_layout(node)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class RemoveDetachCopyPass(RemoveCloneOpsTransformImported):
    """Removes detach_copy."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.detach_copy.default,)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class RemoveAliasCopyOpPass(RemoveCloneOpsTransformImported):
    """Removes alias_copy."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.alias_copy.default,)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class RemoveContiguousOpPass(RemoveCloneOpsTransformImported):
    """Removes contiguous."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.contiguous.default,)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class RemoveToOpsPass(RemoveCloneOpsTransformImported):
    """Removes conversions to the dtype that a tensor has."""

    targets: ClassVar[tuple[Any, ...]] = (_aten._to_copy.default,)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class RemoveZeroSizedCatArgsPass(NodePass):
    """Removes empty operands of concatenations. One operand that is left is the result; none are an empty tensor."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.cat.default,)

    def rewrite(self, node: Node) -> Node | None:
        operands = node.args[0]
        assert isinstance(operands, (list, tuple))
        kept = [each for each in operands if value(each).numel() != 0]
        if len(kept) == len(operands) and len(kept) > 1:
            return None
        if not kept:
            return insert(node, _FULL, shape(node), 0, dtype=dtype_of(node))
        if len(kept) == 1:
            only = kept[0]
            assert isinstance(only, Node)
            is_result = any(user.op == "output" for user in node.users)
            return only if dtype_of(only) == dtype_of(node) and not (is_result and only.op == "placeholder") else None
        return insert(node, _aten.cat.default, kept, get_arg(node, "dim"))


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class RemoveNopExpandOpPass(NodePass):
    """Removes expansions to the shape that a tensor has."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.expand_copy.default, _aten.expand.default)

    def rewrite(self, node: Node) -> Node | None:
        return _same_layout(node) if same_shape(_source(node), node) else None


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class RemoveZeroSizedConstantPadNd(NodePass):
    """Removes padding of nothing."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.constant_pad_nd.default,)

    def rewrite(self, node: Node) -> Node | None:
        return None if any(get_arg(node, "pad")) else _same_layout(node)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class RemoveNopSliceOrViewOpPass(NodePass):
    """Removes slices of everything, and views of the same shape."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.slice_copy.Tensor, _aten.view_copy.default)

    def rewrite(self, node: Node) -> Node | None:
        return _same_layout(node) if same_shape(_source(node), node) else None


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class RemoveNopRequantizeOpPass(NodePass):
    """Removes requantisation to the scale, zero point and dtype that a tensor has."""

    targets: ClassVar[tuple[Any, ...]] = (_cadence.requantize.per_tensor,)

    def rewrite(self, node: Node) -> Node | None:
        scales = get_arg(node, "in_scale") == get_arg(node, "out_scale")
        zeros = get_arg(node, "in_zero_point") == get_arg(node, "out_zero_point")
        return _source(node) if scales and zeros and dtype_of(_source(node)) == get_arg(node, "out_dtype") else None


def _constant_operand(node: Node) -> tuple[Node, Node, float] | None:
    """The operand that is a constant, the other one and the constant's number."""
    first, second = node.args[0], node.args[1]
    for constant, other in ((first, second), (second, first)):
        number = constant_of(constant, _FULL)
        if number is not None and isinstance(constant, Node) and isinstance(other, Node):
            return constant, other, float(number)
    return None


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class RemoveNopMulOpPass(NodePass):
    """A product of integers and zeros is the zeros; one with ones is the other operand. Zeros times infinity are not
    zeros, so floats are left."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.mul.Tensor,)

    def rewrite(self, node: Node) -> Node | None:
        found = _constant_operand(node)
        if found is None:
            return None
        constant, other, number = found
        kept = {0.0: constant, 1.0: other}.get(number)
        if kept is None or not same_shape(kept, node) or dtype_of(kept) != dtype_of(node):
            return None
        return None if number == 0.0 and dtype_of(node).is_floating_point else kept


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class RemoveNopAddOpPass(NodePass):
    """A sum with zeros is the other operand."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.add.Tensor,)

    def rewrite(self, node: Node) -> Node | None:
        found = _constant_operand(node)
        if found is None or node.kwargs or found[2] != 0.0:
            return None
        return found[1] if same_shape(found[1], node) and dtype_of(found[1]) == dtype_of(node) else None


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class RemovePermuteBeforeMeanPass(NodePass):
    """The mean of a permuted tensor is one over the dimensions of the tensor, if those that remain keep their order."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.mean.dim,)

    def rewrite(self, node: Node) -> Node | None:
        permute, dims = _source(node), get_arg(node, "dim")
        if not is_call(permute, _aten.permute_copy.default) or not dims or get_arg(node, "keepdim"):
            return None
        order = [int(at) for at in permute.args[1]]
        rank = len(order)
        over = {order[dim_of(dim, rank)] for dim in dims}
        kept = [dim_of(at, rank) for at in order if at not in over]
        if kept != sorted(kept):
            return None
        return insert(node, _aten.mean.dim, permute.args[0], sorted(over), False, **node.kwargs)


@register_cadence_pass(CadencePassAttribute(opt_level=2))
class RemovePermutesAroundElementwiseOps(_RemovePermutes):
    """Removes permutations in front of elementwise operators that are undone behind them, quantisation included."""

    def __init__(self) -> None:
        super().__init__(
            {
                _cadence.quantize_per_tensor.default,
                _cadence.dequantize_per_tensor.default,
                _cadence.quantized_relu.per_tensor,
                _cadence.requantize.per_tensor,
            }
        )


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class RemoveCatFromSliceCopyPass(NodePass):
    """A slice of a concatenation that lies in one operand is a slice of the operand."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.slice_copy.Tensor,)

    def rewrite(self, node: Node) -> Node | None:
        cat = _source(node)
        if not is_call(cat, _aten.cat.default):
            return None
        rank = len(shape(cat))
        dim = dim_of(get_arg(node, "dim"), rank)
        size = shape(cat)[dim]
        if dim != dim_of(get_arg(cat, "dim"), rank) or not isinstance(size, int):
            return None
        bounds = slice(get_arg(node, "start"), get_arg(node, "end")).indices(size)
        begin = 0
        for operand in cat.args[0]:
            end = begin + shape(operand)[dim]
            if begin <= bounds[0] and bounds[1] <= end and bounds[0] < bounds[1]:
                places = (bounds[0] - begin, bounds[1] - begin, get_arg(node, "step"))
                return insert(node, _aten.slice_copy.Tensor, operand, dim, *places)
            begin = end
        return None


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class RemoveBranchedQuantDequant(NodePass):
    """A dequantize of a quantize of the same parameters, beside uses of the quantised tensor, is the real tensor. The
    rounding is lost, as the fusion of other chains loses it."""

    targets: ClassVar[tuple[Any, ...]] = (_cadence.dequantize_per_tensor.default,)

    def rewrite(self, node: Node) -> Node | None:
        quantize = _source(node)
        if not is_call(quantize, _cadence.quantize_per_tensor.default) or has_one_user(quantize):
            return None
        return _source(quantize) if node.args[1:] == quantize.args[1:] else None


class RemoveRedundantOps:
    """What is removed first."""

    passes: ClassVar[list[Any]] = [
        RemoveToOpsPass,
        RemoveZeroSizedCatArgsPass,
        RemoveNopExpandOpPass,
        RemoveDetachCopyPass,
    ]


class CommonRemovePasses:
    """What other backends of this family remove, too."""

    passes: ClassVar[list[Any]] = [
        RemoveCloneOpsTransformImported,
        RemoveAliasCopyOpPass,
        RemoveNopExpandOpPass,
        RemoveNopSliceOrViewOpPass,
        RemoveToOpsPass,
        RemoveZeroSizedCatArgsPass,
        RemovePermutesAroundElementwiseOps,
        RemoveCatFromSliceCopyPass,
    ]


class CadenceRemoveNops:
    """All passes of this file, in order. `RemoveBranchedQuantDequant` changes numbers and runs on request alone."""

    passes: ClassVar[list[Any]] = [
        *CommonRemovePasses.passes,
        RemoveZeroSizedConstantPadNd,
        RemoveContiguousOpPass,
        RemoveNopRequantizeOpPass,
        RemoveNopMulOpPass,
        RemoveNopAddOpPass,
        RemovePermuteBeforeMeanPass,
    ]
