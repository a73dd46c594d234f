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
from sdk.backends.cadence.aot.remove_permutes import RemovePermuteBeforeMeanPass
from sdk.backends.cadence.aot.remove_squeezes import RemoveSqueezeViewBeforeElementwiseOps
from sdk.backends.cadence.aot.remove_tracking import RemoveBNTrackingMutationsPass as RemoveBNTrackingMutationsPass
from sdk.backends.transforms.remove_permutes_around_elementwise_ops import (
    RemovePermutesAroundElementwiseOps as _RemovePermutes,
)
from sdk.exir.dialects._ops import ops as exir_ops

_aten = exir_ops.edge.aten
_cadence = exir_ops.edge.cadence
_decomposed = exir_ops.edge.quantized_decomposed
_FULL = _aten.full.default


def _source(node: Node) -> Node:
    source = node.args[0]
    assert isinstance(source, Node)
    return source


_STATE = ("p_", "b_", "c_")
"""Prefixes of the names of parameters, buffers and constants."""


class CopyPass(NodePass):
    """A pass that removes copies."""

    def rewrite(self, node: Node) -> Node | None:
        return self.same_layout(node)

    def same_layout(self, node: Node) -> Node | None:
        """Returns the operand of a copy if it has the layout of the result, else None."""
        source = _source(node)
        same = dtype_of(source) == dtype_of(node) and value(source).stride() == value(node).stride()
        return source if same and self.may_replace(node, source) else None

    def may_replace(self, node: Node, source: Node) -> bool:
        """Whether the program may return an input instead of its copy. It may not if it writes to inputs or buffers,
        whose new values precede other results, so the copy must be the first result."""
        output = next((user for user in node.users if user.op == "output"), None)
        if source.op != "placeholder" or output is None:
            return True
        results: Any = output.args[0]
        is_whole = self.whole is not None and node.graph is self.whole.graph
        return is_whole and results[0] is node and not str(source.target).startswith(_STATE)

    def source_or_clone(self, node: Node, source: Node) -> Node:
        """Returns what replaces a call whose result equals its operand: the operand, or a copy where the program may
        not return the operand itself."""
        return source if self.may_replace(node, source) else insert(node, _aten.clone.default, source)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class RemoveCloneOpsTransformImported(CopyPass):
    """Removes copies that keep the layout."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.clone.default,)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class RemoveDetachCopyPass(CopyPass):
    """Removes detach_copy."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.detach_copy.default,)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class RemoveAliasCopyOpPass(CopyPass):
    """Removes alias_copy."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.alias_copy.default,)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class RemoveContiguousOpPass(CopyPass):
    """Removes contiguous."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.contiguous.default,)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class RemoveToOpsPass(CopyPass):
    """Removes conversions of tensors to the dtype that they already have."""

    targets: ClassVar[tuple[Any, ...]] = (_aten._to_copy.default, _aten.to.dtype, _aten.to.dtype_layout)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class RemoveZeroSizedCatArgsPass(CopyPass):
    """Removes empty operands of concatenations. If one operand is left, it replaces the concatenation; if none is
    left, an empty tensor does."""

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
            return only if dtype_of(only) == dtype_of(node) and self.may_replace(node, only) else None
        return insert(node, _aten.cat.default, kept, get_arg(node, "dim"))


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class RemoveNopExpandOpPass(CopyPass):
    """Removes expansions of tensors to the shape that they already have."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.expand_copy.default, _aten.expand.default)

    def rewrite(self, node: Node) -> Node | None:
        return self.same_layout(node) if same_shape(_source(node), node) else None


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class RemoveZeroSizedConstantPadNd(CopyPass):
    """Removes padding by 0 elements."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.constant_pad_nd.default,)

    def rewrite(self, node: Node) -> Node | None:
        return None if any(get_arg(node, "pad")) else self.same_layout(node)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class RemoveNopSliceOrViewOpPass(CopyPass):
    """Removes slices of a whole tensor, and views that keep the shape."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.slice_copy.Tensor, _aten.view_copy.default)

    def rewrite(self, node: Node) -> Node | None:
        return self.same_layout(node) if same_shape(_source(node), node) else None


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class RemoveNopRequantizeOpPass(NodePass):
    """Removes requantisation that keeps the scale, zero point and dtype."""

    targets: ClassVar[tuple[Any, ...]] = (_cadence.requantize.per_tensor,)

    def rewrite(self, node: Node) -> Node | None:
        scales = get_arg(node, "in_scale") == get_arg(node, "out_scale")
        zeros = get_arg(node, "in_zero_point") == get_arg(node, "out_zero_point")
        return _source(node) if scales and zeros and dtype_of(_source(node)) == get_arg(node, "out_dtype") else None


def _constant_operand(node: Node) -> tuple[Node, Node, float] | None:
    """Returns the constant operand of a call with two operands, the other operand, and the constant's value."""
    first, second = node.args[0], node.args[1]
    for constant, other in ((first, second), (second, first)):
        number = constant_of(constant, _FULL)
        if number is not None and isinstance(constant, Node) and isinstance(other, Node):
            return constant, other, float(number)
    return None


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class RemoveNopMulOpPass(NodePass):
    """Replaces a product with zeros by zeros, and a product with ones by the other operand. It ignores that infinity
    and NaN times 0 are NaN."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.mul.Tensor,)

    def rewrite(self, node: Node) -> Node | None:
        found = _constant_operand(node)
        if found is None:
            return None
        _, other, number = found
        if number == 0.0 and all(isinstance(size, int) for size in shape(node)):
            return insert(node, _FULL, shape(node), 0, dtype=dtype_of(node))
        same = number == 1.0 and same_shape(other, node) and dtype_of(other) == dtype_of(node)
        return other if same else None


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class RemoveExactNopMulOpPass(RemoveNopMulOpPass):
    """`RemoveNopMulOpPass`, which leaves multiplications of floats by zeros: infinities and NaN give NaN."""

    def rewrite(self, node: Node) -> Node | None:
        found = _constant_operand(node)
        changes_numbers = found is not None and found[2] == 0.0 and dtype_of(node).is_floating_point
        return None if changes_numbers else super().rewrite(node)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class RemoveNopAddOpPass(NodePass):
    """Replaces a sum with zeros by the other operand."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.add.Tensor,)

    def rewrite(self, node: Node) -> Node | None:
        found = _constant_operand(node)
        if found is None or node.kwargs or found[2] != 0.0:
            return None
        return found[1] if same_shape(found[1], node) and dtype_of(found[1]) == dtype_of(node) else None


@register_cadence_pass(CadencePassAttribute(opt_level=2))
class RemovePermutesAroundElementwiseOps(_RemovePermutes):
    """Removes permutations before elementwise or quantising operators if the inverse permutations follow these."""

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
    """Replaces a slice of a concatenation by a slice of one operand, if that has all elements of the slice."""

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
        if bounds[0] >= bounds[1] and len(shape(cat.args[0][0])) == rank:
            return insert(node, _aten.slice_copy.Tensor, cat.args[0][0], dim, 0, 0, get_arg(node, "step"))
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
    """Replaces dequantize(quantize(x)) with the same parameters by x where the quantised tensor has other users, too.
    This drops the rounding, as the fusion of such chains does."""

    _pairs: ClassVar[dict[Any, Any]] = {
        each.dequantize_per_tensor.default: each.quantize_per_tensor.default for each in (_cadence, _decomposed)
    }
    targets: ClassVar[tuple[Any, ...]] = tuple(_pairs)

    def rewrite(self, node: Node) -> Node | None:
        quantize = _source(node)
        if not is_call(quantize, self._pairs[node.target]) or has_one_user(quantize):
            return None
        return _source(quantize) if node.args[1:] == quantize.args[1:] else None


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class RemoveNopLinalgVectorNormOpPass(NodePass):
    """Replaces a norm over dimensions of size 1 by the absolute value."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.linalg_vector_norm.default,)

    def rewrite(self, node: Node) -> Node | None:
        source, dims = _source(node), get_arg(node, "dim")
        sizes = shape(source)
        over = range(len(sizes)) if dims is None else [dim_of(dim, len(sizes)) for dim in dims]
        # The norm of order 0 counts the elements that are not zero.
        if get_arg(node, "ord") == 0 or any(sizes[dim] != 1 for dim in over) or dtype_of(source) != dtype_of(node):
            return None
        magnitude = insert(node, _aten.abs.default, source)
        return magnitude if same_shape(source, node) else insert(node, _aten.squeeze_copy.dims, magnitude, list(over))


class RemoveRedundantOps:
    """The passes that remove operators before all other passes."""

    passes: ClassVar[list[Any]] = [
        RemoveToOpsPass,
        RemoveZeroSizedCatArgsPass,
        RemoveNopExpandOpPass,
        RemoveDetachCopyPass,
    ]


class CommonRemovePasses:
    """The passes that other backends of Cadence's family run, too."""

    passes: ClassVar[list[Any]] = [
        RemoveCloneOpsTransformImported,
        RemoveAliasCopyOpPass,
        RemoveNopExpandOpPass,
        RemoveNopSliceOrViewOpPass,
        RemoveToOpsPass,
        RemoveZeroSizedCatArgsPass,
        RemovePermutesAroundElementwiseOps,
        RemoveSqueezeViewBeforeElementwiseOps,
        RemoveCatFromSliceCopyPass,
    ]


class CadenceRemoveNops:
    """Passes that remove operators, in order. `RemoveBranchedQuantDequant` and `RemoveNopMulOpPass` change results and
    are not among them."""

    passes: ClassVar[list[Any]] = [
        *CommonRemovePasses.passes,
        RemoveZeroSizedConstantPadNd,
        RemoveContiguousOpPass,
        RemoveNopRequantizeOpPass,
        RemoveExactNopMulOpPass,
        RemoveNopAddOpPass,
        RemoveNopLinalgVectorNormOpPass,
        RemovePermuteBeforeMeanPass,
    ]
