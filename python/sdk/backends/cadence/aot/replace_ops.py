# SPDX-License-Identifier: BSD-3-Clause
"""Passes that replace operators by cheaper ones or by ones that have kernels. This module has operators that move or
quantise elements; the modules `replace_*` have the others."""

from __future__ import annotations

from typing import Any, ClassVar

from torch.fx import Node

from sdk.backends.cadence.aot.node_pass import NodePass, dim_of, dtype_of, insert, shape
from sdk.backends.cadence.aot.pass_utils import CadencePassAttribute, get_arg, register_cadence_pass
from sdk.backends.cadence.aot.remove_ops import CopyPass
from sdk.backends.cadence.aot.replace_constants import (
    ReplaceEmptyTensorsWithFullPass,
    ReplaceFullLikeWithFullPass,
    ReplaceInfArgInFullWithValuePass,
    ReplaceLogicalNotBooleanWhereWithWherePass,
    ReplaceMulTensorWithMulAndFullOpsPass,
    ReplacePowWithMulPass,
    ReplaceScalarTensorWithFullPass,
    ReplaceWhereWithFullArgsWithWhereScalar,
)
from sdk.backends.cadence.aot.replace_convolutions import (
    ReplaceAtenConvolutionWithCadenceConvolutionPass,
    ReplaceConvolutionOptionalArgsWithConcreteArgsPass,
    ReplaceConvWithChannelLastConvPass,
    ReplaceConvWithIm2RowAndLinear,
    ReplaceIm2RowWithViewPass,
    ReplaceMaxPool2dWithChannelLastMaxPool2dPass,
    ReplaceTransposedConvWithLinearPass,
    ReplaceTrivialConvWithLinear,
)
from sdk.backends.cadence.aot.replace_layers import (
    ReplaceAdaptiveAvgPoolWithAtenAvgPoolPass,
    ReplaceAddMMWithLinearPass,
    ReplaceAtenAvgPoolWithCadenceAvgPoolPass,
    ReplaceAtenLinalgSvdWithCadenceLinalgSvdPass,
    ReplaceAtenRmsNormWithCadenceRmsNormPass,
    ReplaceLinearWithFullyConnectedOpPass,
    ReplaceMatmulWithTransposedMatmulPass,
    ReplaceMMWithAddMMPass,
    ReplaceSafeSoftmaxWithSoftmax,
    ReplaceTorchQuantizedEmbeddingWithCadenceQuantizedEmbedding,
)
from sdk.backends.transforms.replace_nop_transpose_or_permute_with_view import (
    ReplaceNopTransposeOrPermuteWithViewPass as _ReplaceNopPermute,
)
from sdk.backends.transforms.replace_scalar_with_tensor import ReplaceScalarWithTensorArgPass as _ReplaceScalar
from sdk.exir.dialects._ops import ops as exir_ops

_aten = exir_ops.edge.aten
_cadence = exir_ops.edge.cadence
_decomposed = exir_ops.edge.quantized_decomposed
_FULL = _aten.full.default

__all__ = [
    "CadenceReplaceOpsInGraph",
    "CommonReplacePasses",
    "MakeSliceAndCatDimOutermostPass",
    "ReplaceAdaptiveAvgPoolWithAtenAvgPoolPass",
    "ReplaceAddMMWithLinearPass",
    "ReplaceAtenAvgPoolWithCadenceAvgPoolPass",
    "ReplaceAtenConvolutionWithCadenceConvolutionPass",
    "ReplaceAtenLinalgSvdWithCadenceLinalgSvdPass",
    "ReplaceAtenRmsNormWithCadenceRmsNormPass",
    "ReplaceConstantPadNdWithSlicePass",
    "ReplaceConvWithChannelLastConvPass",
    "ReplaceConvWithIm2RowAndLinear",
    "ReplaceConvolutionOptionalArgsWithConcreteArgsPass",
    "ReplaceEmptyTensorsWithFullPass",
    "ReplaceFullLikeWithFullPass",
    "ReplaceFunctionallyEquivalentOpTargets",
    "ReplaceIm2RowWithViewPass",
    "ReplaceInfArgInFullWithValuePass",
    "ReplaceLinearWithFullyConnectedOpPass",
    "ReplaceLogicalNotBooleanWhereWithWherePass",
    "ReplaceMMWithAddMMPass",
    "ReplaceMatmulWithTransposedMatmulPass",
    "ReplaceMaxPool2dWithChannelLastMaxPool2dPass",
    "ReplaceMulTensorWithMulAndFullOpsPass",
    "ReplaceNopTransposeOrPermuteWithViewPass",
    "ReplacePT2DequantWithCadenceDequantPass",
    "ReplacePT2QuantWithCadenceQuantPass",
    "ReplacePadWithCatPass",
    "ReplacePermuteWithTransposePass",
    "ReplacePowWithMulPass",
    "ReplaceRepeatWithCatPass",
    "ReplaceSafeSoftmaxWithSoftmax",
    "ReplaceScalarTensorWithFullPass",
    "ReplaceScalarWithTensorArgPass",
    "ReplaceSelectWithViewOpPass",
    "ReplaceSplitWithSlicePass",
    "ReplaceSqueezeAndUnsqueezeWithViewPass",
    "ReplaceTorchQuantizedEmbeddingWithCadenceQuantizedEmbedding",
    "ReplaceTransposedConvWithLinearPass",
    "ReplaceTrivialConvWithLinear",
    "ReplaceWhereWithFullArgsWithWhereScalar",
]


def _edge_replacement(node: Node, target: Any) -> Node | None:
    parameters = [get_arg(node, name) for name in ("scale", "zero_point", "quant_min", "quant_max", "dtype")]
    numbers = all(isinstance(each, (int, float)) for each in parameters[:4])
    return insert(node, target, node.args[0], *parameters) if numbers else None


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplacePT2QuantWithCadenceQuantPass(NodePass):
    """Replaces PyTorch's operator by `cadence::quantize_per_tensor`."""

    targets: ClassVar[tuple[Any, ...]] = (_decomposed.quantize_per_tensor.default,)

    def rewrite(self, node: Node) -> Node | None:
        return _edge_replacement(node, _cadence.quantize_per_tensor.default)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplacePT2DequantWithCadenceDequantPass(NodePass):
    """Replaces PyTorch's operator by `cadence::dequantize_per_tensor`."""

    targets: ClassVar[tuple[Any, ...]] = (_decomposed.dequantize_per_tensor.default,)

    def rewrite(self, node: Node) -> Node | None:
        return _edge_replacement(node, _cadence.dequantize_per_tensor.default)


def _view(node: Node, source: Any) -> Node | None:
    sizes = shape(node)
    return insert(node, _aten.view_copy.default, source, sizes) if all(isinstance(s, int) for s in sizes) else None


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceSqueezeAndUnsqueezeWithViewPass(NodePass):
    """Replaces squeeze and unsqueeze by views."""

    targets: ClassVar[tuple[Any, ...]] = (
        _aten.squeeze_copy.default,
        _aten.squeeze_copy.dim,
        _aten.squeeze_copy.dims,
        _aten.unsqueeze_copy.default,
    )

    def rewrite(self, node: Node) -> Node | None:
        return _view(node, node.args[0])


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceFunctionallyEquivalentOpTargets(NodePass):
    """Gives operators with several names one name."""

    _names: ClassVar[dict[Any, Any]] = {
        _aten.unsafe_split.Tensor: _aten.split_copy.Tensor,
        _aten.relu_.default: _aten.relu.default,
    }
    targets: ClassVar[tuple[Any, ...]] = tuple(_names)

    def rewrite(self, node: Node) -> Node | None:
        return insert(node, self._names[node.target], *node.args, **node.kwargs)

    def maybe_remove_or_replace(self, node: Node) -> bool:
        changed = super().maybe_remove_or_replace(node)
        if changed:
            node.graph.erase_node(node)  # unused calls that write to an operand are not dead code
        return changed


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class ReplaceSelectWithViewOpPass(NodePass):
    """Replaces a selection along a dimension of size 1 by a view."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.select_copy.int,)

    def rewrite(self, node: Node) -> Node | None:
        sizes = shape(node.args[0])
        return _view(node, node.args[0]) if sizes[dim_of(get_arg(node, "dim"), len(sizes))] == 1 else None


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class ReplacePermuteWithTransposePass(CopyPass):
    """Replaces permutations of two dimensions by transpose_copy, and removes permutations that change nothing."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.permute_copy.default,)

    def rewrite(self, node: Node) -> Node | None:
        source = node.args[0]
        rank = len(shape(node))
        order = [dim_of(int(dim), rank) for dim in get_arg(node, "dims")]
        moved = [at for at, dim in enumerate(order) if at != dim]
        if not moved and isinstance(source, Node):
            return self.source_or_clone(node, source)
        if len(moved) != 2 or order[moved[0]] != moved[1]:
            return None
        return insert(node, _aten.transpose_copy.int, source, *moved)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceRepeatWithCatPass(NodePass):
    """Replaces repeat by concatenations."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.repeat.default,)

    def rewrite(self, node: Node) -> Node | None:
        source, repeats = node.args[0], list(get_arg(node, "repeats"))
        assert isinstance(source, Node)
        sizes = shape(source)
        new = [1] * (len(repeats) - len(sizes)) + sizes
        if not all(isinstance(each, int) and each > 0 for each in (*repeats, *new)):
            return None
        found: Node = source if new == sizes else insert(node, _aten.view_copy.default, source, new)
        for dim, count in reversed(list(enumerate(repeats))):
            if count != 1:
                found = insert(node, _aten.cat.default, [found] * count, dim)
        return None if found is source else found


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class ReplacePadWithCatPass(NodePass):
    """Replaces padding along one dimension by a concatenation with constants."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.constant_pad_nd.default,)

    def rewrite(self, node: Node) -> Node | None:
        pad, sizes = list(get_arg(node, "pad")), shape(node.args[0])
        padded = [at for at in range(len(pad) // 2) if pad[2 * at] or pad[2 * at + 1]]
        fixed = all(isinstance(size, int) for size in sizes)
        if len(padded) != 1 or not fixed or any(not isinstance(each, int) or each < 0 for each in pad):
            return None
        dim, number = len(sizes) - 1 - padded[0], get_arg(node, "value")

        def constant(count: int) -> list[Node]:
            size = [*sizes[:dim], count, *sizes[dim + 1 :]]
            return [insert(node, _FULL, size, number, dtype=dtype_of(node))] if count else []

        parts = [*constant(pad[2 * padded[0]]), node.args[0], *constant(pad[2 * padded[0] + 1])]
        return insert(node, _aten.cat.default, parts, dim)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class ReplaceConstantPadNdWithSlicePass(NodePass):
    """Replaces padding by negative numbers by slices."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.constant_pad_nd.default,)

    def rewrite(self, node: Node) -> Node | None:
        pad, sizes, found = list(get_arg(node, "pad")), shape(node.args[0]), node.args[0]
        if not any(pad) or any(not isinstance(each, int) or each > 0 for each in pad):
            return None
        for at in range(len(pad) // 2):
            dim = len(sizes) - 1 - at
            if (pad[2 * at] or pad[2 * at + 1]) and isinstance(sizes[dim], int):
                found = insert(node, _aten.slice_copy.Tensor, found, dim, -pad[2 * at], sizes[dim] + pad[2 * at + 1])
        return found if isinstance(found, Node) else None


@register_cadence_pass(CadencePassAttribute(opt_level=3))
class MakeSliceAndCatDimOutermostPass(NodePass):
    """Makes slices and concatenations work along the outermost dimension, with transpositions around them, so that the
    memory plan can put their tensors inside each other."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.cat.default, _aten.slice_copy.Tensor)

    def rewrite(self, node: Node) -> Node | None:
        sizes = shape(node)
        dim = dim_of(get_arg(node, "dim"), len(sizes))
        if all(size == 1 for size in sizes[:dim]):
            return None

        def moved(source: Any) -> Node:
            return insert(node, _aten.transpose_copy.int, source, 0, dim)

        if node.target == _aten.cat.default:
            operands: Any = node.args[0]
            # cat also accepts empty tensors of shape (0,) among operands of another rank.
            if any(len(shape(each)) != len(sizes) for each in operands):
                return None
            return moved(insert(node, node.target, [moved(each) for each in operands], 0))
        bounds = [get_arg(node, name) for name in ("start", "end", "step")]
        return moved(insert(node, node.target, moved(node.args[0]), 0, *bounds))


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceScalarWithTensorArgPass(_ReplaceScalar):
    """Makes the second operand of add, sub, mul and div a tensor, because kernels take only tensors."""


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class ReplaceNopTransposeOrPermuteWithViewPass(_ReplaceNopPermute):
    """Replaces permutations that move no elements by views."""


@register_cadence_pass(CadencePassAttribute(opt_level=2))
class ReplaceSplitWithSlicePass(NodePass):
    """Replaces a split by one slice for each part."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.split_with_sizes_copy.default,)

    def maybe_remove_or_replace(self, node: Node) -> bool:
        sizes, dim = list(node.args[1]), get_arg(node, "dim")
        if not all(isinstance(size, int) for size in sizes):
            return False
        for part in list(node.users):
            index = part.args[1]
            assert isinstance(index, int)
            start = sum(sizes[:index])
            cut = insert(part, _aten.slice_copy.Tensor, node.args[0], dim, start, start + sizes[index], 1)
            part.replace_all_uses_with(cut)
            node.graph.erase_node(part)
        return True


class CommonReplacePasses:
    """The passes that other backends of Cadence's family run, too."""

    passes: ClassVar[list[Any]] = [
        ReplaceScalarWithTensorArgPass,
        ReplaceSqueezeAndUnsqueezeWithViewPass,
        ReplaceSplitWithSlicePass,
        ReplaceSelectWithViewOpPass,
        ReplaceMMWithAddMMPass,
        ReplaceRepeatWithCatPass,
        ReplaceFullLikeWithFullPass,
        ReplaceTorchQuantizedEmbeddingWithCadenceQuantizedEmbedding,
    ]


class CadenceReplaceOpsInGraph:
    """All passes that replace operators, in order."""

    passes: ClassVar[list[Any]] = [
        *CommonReplacePasses.passes,
        ReplaceAtenLinalgSvdWithCadenceLinalgSvdPass,
        ReplaceAtenRmsNormWithCadenceRmsNormPass,
        ReplaceEmptyTensorsWithFullPass,
        ReplaceFunctionallyEquivalentOpTargets,
        ReplacePermuteWithTransposePass,
        ReplaceConvolutionOptionalArgsWithConcreteArgsPass,
        ReplaceAddMMWithLinearPass,
        ReplacePadWithCatPass,
        ReplaceConstantPadNdWithSlicePass,
        ReplaceAtenConvolutionWithCadenceConvolutionPass,
        ReplaceTrivialConvWithLinear,
        ReplaceConvWithChannelLastConvPass,
        ReplaceMaxPool2dWithChannelLastMaxPool2dPass,
        ReplaceConvWithIm2RowAndLinear,
        ReplaceTransposedConvWithLinearPass,
        ReplaceIm2RowWithViewPass,
        MakeSliceAndCatDimOutermostPass,
        ReplaceNopTransposeOrPermuteWithViewPass,
        ReplaceLinearWithFullyConnectedOpPass,
        ReplaceScalarTensorWithFullPass,
        ReplaceInfArgInFullWithValuePass,
        ReplaceLogicalNotBooleanWhereWithWherePass,
        ReplacePT2QuantWithCadenceQuantPass,
        ReplacePT2DequantWithCadenceDequantPass,
        ReplaceAdaptiveAvgPoolWithAtenAvgPoolPass,
        ReplaceAtenAvgPoolWithCadenceAvgPoolPass,
        ReplaceWhereWithFullArgsWithWhereScalar,
        ReplaceMatmulWithTransposedMatmulPass,
        ReplacePowWithMulPass,
    ]
