# SPDX-License-Identifier: BSD-3-Clause
"""The passes of cadence: each runs on a small graph, which then has other calls and the same results."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch.fx import GraphModule

import sdk.backends.cadence.aot.ops_registrations  # noqa: F401  (registers the operators)
from sdk.backends.cadence.aot import decompose_ops, fuse_ops, remove_ops, reorder_ops, replace_ops, simplify_ops
from sdk.backends.cadence.aot.graph_builder import GraphBuilder, single_op_builder
from sdk.backends.cadence.aot.pass_utils import (
    ALL_CADENCE_PASSES,
    CadencePassAttribute,
    EdgePassesConfig,
    count_node,
    create_cadence_pass_filter,
    get_arg,
    set_arg,
)
from sdk.backends.cadence.aot.passes import apply_torch_ops_passes, get_passes_in_default_order
from sdk.backends.cadence.aot.type_dispatch import CompileTimeTypeDispatchPass
from sdk.exir.dialects._ops import ops as exir_ops

aten, cadence = exir_ops.edge.aten, exir_ops.edge.cadence
decomposed = exir_ops.edge.quantized_decomposed
_EDGE = (0.1, 3, -128, 127, torch.int8)
Call = Callable[[GraphBuilder, list[Any]], Any]


def _graph(inputs: Sequence[torch.Tensor], build: Call) -> GraphModule:
    builder = GraphBuilder()
    found = build(builder, [builder.placeholder(f"x{at}", tensor) for at, tensor in enumerate(inputs)])
    builder.output([found])
    return builder.get_graph_module()


def _chain(*calls: tuple[Any, ...]) -> Call:
    """Calls in sequence, each with the result of the one before as its first argument."""

    def build(builder: GraphBuilder, inputs: list[Any]) -> Any:
        found = inputs[0]
        for op, *args in calls:
            found = builder.call_operator(op, (found, *args))
        return found

    return build


def _x(*shape: int) -> list[torch.Tensor]:
    return [torch.randn(shape, generator=torch.Generator().manual_seed(1))]


def _q(*shape: int) -> list[torch.Tensor]:
    return [torch.randint(-128, 128, shape, dtype=torch.int8, generator=torch.Generator().manual_seed(2))]


def _full(builder: GraphBuilder, sizes: list[int], number: float) -> Any:
    return builder.call_operator(aten.full.default, (sizes, number))


def _with_full(op: Any, number: float, sizes: list[int], first: bool = True) -> Call:
    def build(builder: GraphBuilder, inputs: list[Any]) -> Any:
        constant = _full(builder, sizes, number)
        return builder.call_operator(op, (inputs[0], constant) if first else (constant, inputs[0]))

    return build


def _where(builder: GraphBuilder, inputs: list[Any]) -> Any:
    negated = builder.call_operator(aten.logical_not.default, (inputs[0],))
    return builder.call_operator(aten.where.self, (negated, inputs[1], inputs[2]))


def _where_scalar(builder: GraphBuilder, inputs: list[Any]) -> Any:
    numbers = [_full(builder, [2, 3], number) for number in (0.5, -2.0)]
    return builder.call_operator(aten.where.self, (inputs[0], *numbers))


def _add_to_product(builder: GraphBuilder, inputs: list[Any]) -> Any:
    product = builder.call_operator(aten.mm.default, (inputs[0], inputs[1]))
    return builder.call_operator(aten.add.Tensor, (product, inputs[2]))


def _cat_with_empty(builder: GraphBuilder, inputs: list[Any]) -> Any:
    return builder.call_operator(aten.cat.default, ([inputs[0], inputs[1], inputs[0]], 1))


def _slice_of_cat(builder: GraphBuilder, inputs: list[Any]) -> Any:
    joined = builder.call_operator(aten.cat.default, ([inputs[0], inputs[1]], 1))
    return builder.call_operator(aten.slice_copy.Tensor, (joined, 1, 4, 6))


def _scaled_dequantize(builder: GraphBuilder, inputs: list[Any]) -> Any:
    real = builder.call_operator(cadence.dequantize_per_tensor.default, (inputs[0], *_EDGE))
    return builder.call_operator(aten.mul.Tensor, (real, _full(builder, [1], 0.25)))


def _scaled_quantize(builder: GraphBuilder, inputs: list[Any]) -> Any:
    scaled = builder.call_operator(aten.mul.Tensor, (inputs[0], _full(builder, [1], 0.25)))
    return builder.call_operator(cadence.quantize_per_tensor.default, (scaled, *_EDGE))


def _split(builder: GraphBuilder, inputs: list[Any]) -> Any:
    parts = builder.call_operator(aten.split_with_sizes_copy.default, (inputs[0], [1, 3], 1))
    return builder.call_getitem(parts, 1)


def _twice(builder: GraphBuilder, inputs: list[Any]) -> Any:
    first, second = (builder.call_operator(aten.neg.default, (inputs[0],)) for _ in range(2))
    return builder.call_operator(aten.add.Tensor, (first, second))


def _late(builder: GraphBuilder, inputs: list[Any]) -> Any:
    """A constant that is made early and used late, and a slice that is taken late."""
    constant = _full(builder, [2], 3.0)
    negated = builder.call_operator(aten.neg.default, (inputs[0],))
    part = builder.call_operator(aten.slice_copy.Tensor, (inputs[0], 0, 0, 2))
    whole = builder.call_operator(aten.slice_copy.Tensor, (negated, 0, 1, 3))
    return builder.call_operator(aten.add.Tensor, (builder.call_operator(aten.mul.Tensor, (part, whole)), constant))


def _conv(op: Any, *tail: Any) -> Call:
    return lambda builder, inputs: builder.call_operator(op, (*inputs, *tail))


def _signal() -> list[torch.Tensor]:
    return [*_x(2, 4, 9), *_x(6, 4, 3), *_x(6)]


def _image(groups: int = 1) -> list[torch.Tensor]:
    weight = torch.randint(-128, 128, (4, 4 // groups, 3, 2), dtype=torch.int8)
    return [*_q(1, 4, 6, 5), weight, torch.randint(-999, 999, (4,), dtype=torch.int32)]


def _matmul() -> list[torch.Tensor]:
    return [*_q(2, 3, 4), *_q(2, 4, 5)]


_QUANTIZED = (5, 3, 0.002, 0.1, -7, 1374389535, -5)
_MATMUL = lambda builder, x: builder.call_operator(  # noqa: E731
    cadence.quantized_matmul.default, (x[0], 1, x[1], -2, None, 1374389535, -8, 3, False)
)
_CONVOLUTION = ([1], [1], [1], False, [0], 1)
_IMAGE = ([2, 1], [1, 0], [1, 1])
_BOOLS = [torch.tensor([[True, False, True], [False, False, True]])]

# The pass, the inputs, the calls, the operator that goes and how many calls of it remain, the operator that comes.
_CASES: dict[str, tuple[Any, list[torch.Tensor], Call, Any, int, Any]] = {
    "clone": (
        remove_ops.RemoveCloneOpsTransformImported,
        _x(3),
        _chain((aten.neg.default,), (aten.clone.default,)),
        aten.clone.default,
        0,
        None,
    ),
    "alias": (
        remove_ops.RemoveAliasCopyOpPass,
        _x(3),
        _chain((aten.neg.default,), (aten.alias_copy.default,)),
        aten.alias_copy.default,
        0,
        None,
    ),
    "detach": (
        remove_ops.RemoveDetachCopyPass,
        _x(3),
        _chain((aten.neg.default,), (aten.detach_copy.default,)),
        aten.detach_copy.default,
        0,
        None,
    ),
    "to": (
        remove_ops.RemoveToOpsPass,
        _x(3),
        _chain((aten.neg.default,), (aten._to_copy.default,)),
        aten._to_copy.default,
        0,
        None,
    ),
    "expand": (
        remove_ops.RemoveNopExpandOpPass,
        _x(2, 3),
        _chain((aten.neg.default,), (aten.expand_copy.default, [2, 3])),
        aten.expand_copy.default,
        0,
        None,
    ),
    "view": (
        remove_ops.RemoveNopSliceOrViewOpPass,
        _x(2, 3),
        _chain((aten.neg.default,), (aten.view_copy.default, [2, 3])),
        aten.view_copy.default,
        0,
        None,
    ),
    "view_kept": (
        remove_ops.RemoveNopSliceOrViewOpPass,
        _x(2, 3),
        _chain((aten.neg.default,), (aten.view_copy.default, [3, 2])),
        aten.view_copy.default,
        1,
        None,
    ),
    "pad_nothing": (
        remove_ops.RemoveZeroSizedConstantPadNd,
        _x(2, 3),
        _chain((aten.neg.default,), (aten.constant_pad_nd.default, [0, 0])),
        aten.constant_pad_nd.default,
        0,
        None,
    ),
    "cat_empty": (
        remove_ops.RemoveZeroSizedCatArgsPass,
        [*_x(2, 3), torch.zeros(2, 0)],
        _cat_with_empty,
        aten.cat.default,
        1,
        aten.cat.default,
    ),
    "requantize": (
        remove_ops.RemoveNopRequantizeOpPass,
        _q(5),
        _chain((cadence.requantize.per_tensor, 0.5, 2, 0.5, 2, torch.int8)),
        cadence.requantize.per_tensor,
        0,
        None,
    ),
    "mul_one": (
        remove_ops.RemoveNopMulOpPass,
        _x(2, 3),
        _with_full(aten.mul.Tensor, 1.0, [1]),
        aten.mul.Tensor,
        0,
        None,
    ),
    "mul_zero": (
        remove_ops.RemoveNopMulOpPass,
        _x(2, 3),
        _with_full(aten.mul.Tensor, 0.0, [2, 3]),
        aten.mul.Tensor,
        1,
        None,
    ),
    "add_zero": (
        remove_ops.RemoveNopAddOpPass,
        _x(2, 3),
        _with_full(aten.add.Tensor, 0.0, [3], False),
        aten.add.Tensor,
        0,
        None,
    ),
    "mean": (
        remove_ops.RemovePermuteBeforeMeanPass,
        _x(2, 3, 4, 5),
        _chain((aten.permute_copy.default, [0, 2, 3, 1]), (aten.mean.dim, [1, 2])),
        aten.permute_copy.default,
        0,
        aten.mean.dim,
    ),
    "cat_slice": (
        remove_ops.RemoveCatFromSliceCopyPass,
        [*_x(2, 3), *_x(2, 4)],
        _slice_of_cat,
        aten.cat.default,
        0,
        aten.slice_copy.Tensor,
    ),
    "permutes": (
        remove_ops.RemovePermutesAroundElementwiseOps,
        _x(2, 3, 4),
        _chain((aten.permute_copy.default, [0, 2, 1]), (aten.relu.default,), (aten.permute_copy.default, [0, 2, 1])),
        aten.permute_copy.default,
        0,
        aten.relu.default,
    ),
    "addmm": (
        fuse_ops.FuseMMWithAdd,
        [*_x(2, 3), *_x(3, 4), *_x(4)],
        _add_to_product,
        aten.mm.default,
        0,
        aten.addmm.default,
    ),
    "two_permutes": (
        fuse_ops.FuseCascadedTransposeOrPermuteOps,
        _x(2, 3, 4),
        _chain((aten.permute_copy.default, [2, 0, 1]), (aten.permute_copy.default, [1, 0, 2])),
        aten.permute_copy.default,
        1,
        None,
    ),
    "two_views": (
        fuse_ops.FuseCascadedViewOps,
        _x(2, 6),
        _chain((aten.view_copy.default, [3, 4]), (aten.view_copy.default, [12])),
        aten.view_copy.default,
        1,
        None,
    ),
    "to_requantize": (
        fuse_ops.FuseQuantDequantToRequantizePass,
        _q(9),
        _chain(
            (cadence.dequantize_per_tensor.default, *_EDGE),
            (cadence.quantize_per_tensor.default, 0.3, -4, -128, 127, torch.int8),
        ),
        cadence.quantize_per_tensor.default,
        0,
        cadence.requantize.per_tensor,
    ),
    "to_nothing": (
        fuse_ops.FuseQuantDequantToRequantizePass,
        _q(9),
        _chain((decomposed.dequantize_per_tensor.default, *_EDGE), (decomposed.quantize_per_tensor.default, *_EDGE)),
        decomposed.quantize_per_tensor.default,
        0,
        None,
    ),
    "scale_dequantize": (
        fuse_ops.FuseMulTensorIntoDequantPass,
        _q(9),
        _scaled_dequantize,
        aten.mul.Tensor,
        0,
        cadence.dequantize_per_tensor.default,
    ),
    "scalar_dequantize": (
        fuse_ops.FuseMulScalarIntoDequantPass,
        _q(9),
        _chain((cadence.dequantize_per_tensor.default, *_EDGE), (aten.mul.Scalar, 0.5)),
        aten.mul.Scalar,
        0,
        cadence.dequantize_per_tensor.default,
    ),
    "scale_quantize": (
        fuse_ops.FuseMulTensorIntoQuantPass,
        _x(9),
        _scaled_quantize,
        aten.mul.Tensor,
        0,
        cadence.quantize_per_tensor.default,
    ),
    "constant": (
        fuse_ops.FuseFullThenReshapePass,
        _x(1),
        lambda b, x: b.call_operator(aten.view_copy.default, (_full(b, [2, 3], 7.0), [6])),
        aten.view_copy.default,
        0,
        aten.full.default,
    ),
    "pairs": (
        fuse_ops.FuseTransposeOrPermuteOpPairsPass,
        _x(2, 3, 4),
        _chain((aten.permute_copy.default, [2, 0, 1]), (aten.relu.default,), (aten.permute_copy.default, [1, 2, 0])),
        aten.permute_copy.default,
        0,
        None,
    ),
    "two_slices": (
        fuse_ops.FuseSliceSameDimPass,
        _x(20, 2),
        _chain((aten.slice_copy.Tensor, 0, 2, 18, 2), (aten.slice_copy.Tensor, 0, 1, 7, 3)),
        aten.slice_copy.Tensor,
        1,
        None,
    ),
    "where": (
        replace_ops.ReplaceLogicalNotBooleanWhereWithWherePass,
        [*_BOOLS, *_x(2, 3), *_x(3)],
        _where,
        aten.logical_not.default,
        0,
        aten.where.self,
    ),
    "where_scalar": (
        replace_ops.ReplaceWhereWithFullArgsWithWhereScalar,
        _BOOLS,
        _where_scalar,
        aten.where.self,
        0,
        cadence.where_Scalar.default,
    ),
    "quantize": (
        replace_ops.ReplacePT2QuantWithCadenceQuantPass,
        _x(9),
        _chain((decomposed.quantize_per_tensor.default, *_EDGE)),
        decomposed.quantize_per_tensor.default,
        0,
        cadence.quantize_per_tensor.default,
    ),
    "dequantize": (
        replace_ops.ReplacePT2DequantWithCadenceDequantPass,
        _q(9),
        _chain((decomposed.dequantize_per_tensor.default, *_EDGE)),
        decomposed.dequantize_per_tensor.default,
        0,
        cadence.dequantize_per_tensor.default,
    ),
    "squeeze": (
        replace_ops.ReplaceSqueezeAndUnsqueezeWithViewPass,
        _x(2, 1, 3),
        _chain((aten.squeeze_copy.dims, [1])),
        aten.squeeze_copy.dims,
        0,
        aten.view_copy.default,
    ),
    "select": (
        replace_ops.ReplaceSelectWithViewOpPass,
        _x(2, 1, 3),
        _chain((aten.select_copy.int, 1, 0)),
        aten.select_copy.int,
        0,
        aten.view_copy.default,
    ),
    "mm": (
        replace_ops.ReplaceMMWithAddMMPass,
        [*_x(2, 3), *_x(3, 4)],
        _conv(aten.mm.default),
        aten.mm.default,
        0,
        aten.addmm.default,
    ),
    "linear": (
        replace_ops.ReplaceAddMMWithLinearPass,
        [*_x(4), *_x(2, 3), *_x(3, 4)],
        _conv(aten.addmm.default),
        aten.addmm.default,
        0,
        aten.linear.default,
    ),
    "transpose": (
        replace_ops.ReplacePermuteWithTransposePass,
        _x(2, 3, 4),
        _chain((aten.permute_copy.default, [0, 2, 1])),
        aten.permute_copy.default,
        0,
        aten.transpose_copy.int,
    ),
    "repeat": (
        replace_ops.ReplaceRepeatWithCatPass,
        _x(2, 3),
        _chain((aten.repeat.default, [2, 1, 3])),
        aten.repeat.default,
        0,
        aten.cat.default,
    ),
    "pad": (
        replace_ops.ReplacePadWithCatPass,
        _x(2, 3),
        _chain((aten.constant_pad_nd.default, [1, 2], 5.0)),
        aten.constant_pad_nd.default,
        0,
        aten.cat.default,
    ),
    "crop": (
        replace_ops.ReplaceConstantPadNdWithSlicePass,
        _x(4, 5),
        _chain((aten.constant_pad_nd.default, [-1, -2, 0, -1])),
        aten.constant_pad_nd.default,
        0,
        aten.slice_copy.Tensor,
    ),
    "view_of_permute": (
        replace_ops.ReplaceNopTransposeOrPermuteWithViewPass,
        _x(2, 1, 3),
        _chain((aten.permute_copy.default, [1, 0, 2])),
        aten.permute_copy.default,
        0,
        aten.view_copy.default,
    ),
    "fully_connected": (
        replace_ops.ReplaceLinearWithFullyConnectedOpPass,
        [*_x(1, 3), *_x(4, 3), *_x(4)],
        _conv(aten.linear.default),
        aten.linear.default,
        0,
        cadence.fully_connected.default,
    ),
    "full_like": (
        replace_ops.ReplaceFullLikeWithFullPass,
        _x(2, 3),
        _chain((aten.full_like.default, 2.0)),
        aten.full_like.default,
        0,
        aten.full.default,
    ),
    "avg_pool": (
        replace_ops.ReplaceAtenAvgPoolWithCadenceAvgPoolPass,
        _x(1, 2, 6, 7),
        _chain((aten.avg_pool2d.default, [2, 3], [2, 2], [1, 1], False, False)),
        aten.avg_pool2d.default,
        0,
        cadence.avg_pool2d.default,
    ),
    "avg_pool1d": (
        replace_ops.ReplaceAtenAvgPoolWithCadenceAvgPoolPass,
        _x(1, 2, 7),
        _chain((aten.avg_pool1d.default, [3], [2])),
        aten.avg_pool1d.default,
        0,
        cadence.avg_pool2d.default,
    ),
    "adaptive": (
        replace_ops.ReplaceAdaptiveAvgPoolWithAtenAvgPoolPass,
        _x(1, 2, 6, 4),
        _chain((aten._adaptive_avg_pool2d.default, [2, 2])),
        aten._adaptive_avg_pool2d.default,
        0,
        aten.avg_pool2d.default,
    ),
    "empty": (
        replace_ops.ReplaceEmptyTensorsWithFullPass,
        _x(4),
        _chain((aten.slice_copy.Tensor, 0, 2, 2)),
        aten.slice_copy.Tensor,
        0,
        aten.full.default,
    ),
    "split": (
        replace_ops.ReplaceSplitWithSlicePass,
        _x(2, 4),
        _split,
        aten.split_with_sizes_copy.default,
        0,
        aten.slice_copy.Tensor,
    ),
    "pow": (
        replace_ops.ReplacePowWithMulPass,
        _x(5),
        _chain((aten.pow.Tensor_Scalar, 3)),
        aten.pow.Tensor_Scalar,
        0,
        aten.mul.Tensor,
    ),
    "matmul": (
        replace_ops.ReplaceMatmulWithTransposedMatmulPass,
        _matmul(),
        _MATMUL,
        aten.full.default,
        0,
        aten.transpose_copy.int,
    ),
    "conv": (
        replace_ops.ReplaceAtenConvolutionWithCadenceConvolutionPass,
        _signal(),
        _conv(aten.convolution.default, *_CONVOLUTION),
        aten.convolution.default,
        0,
        cadence.conv1d.default,
    ),
    "conv_transposed": (
        replace_ops.ReplaceAtenConvolutionWithCadenceConvolutionPass,
        [*_x(2, 4, 9), *_x(4, 6, 3), *_x(6)],
        _conv(aten.convolution.default, [2], [1], [1], True, [1], 1),
        aten.convolution.default,
        0,
        cadence.transposed_convolution.default,
    ),
    "conv_bias": (
        replace_ops.ReplaceConvolutionOptionalArgsWithConcreteArgsPass,
        _signal()[:2],
        _conv(aten.convolution.default, None, *_CONVOLUTION),
        aten.linear.default,
        0,
        aten.full.default,
    ),
    "conv_last": (
        replace_ops.ReplaceConvWithChannelLastConvPass,
        _image(),
        _conv(cadence.quantized_conv2d_nchw.per_tensor, *_IMAGE, 1, *_QUANTIZED),
        cadence.quantized_conv2d_nchw.per_tensor,
        0,
        cadence.quantized_conv2d_nhwc.per_tensor,
    ),
    "depthwise_last": (
        replace_ops.ReplaceConvWithChannelLastConvPass,
        _image(4),
        _conv(cadence.quantized_conv2d_nchw.per_tensor, *_IMAGE, 4, *_QUANTIZED),
        cadence.quantized_conv2d_nchw.per_tensor,
        0,
        cadence.quantized_conv2d_nhwc.per_tensor,
    ),
    "pool_last": (
        replace_ops.ReplaceMaxPool2dWithChannelLastMaxPool2dPass,
        _q(1, 4, 6, 5),
        _chain((cadence.quantized_max_pool2d_nchw.default, [2, 2], [2, 1], [0, 1], [1, 1], True)),
        cadence.quantized_max_pool2d_nchw.default,
        0,
        cadence.quantized_max_pool2d_nhwc.default,
    ),
    "conv_rows": (
        replace_ops.ReplaceConvWithIm2RowAndLinear,
        _signal(),
        _conv(cadence.conv1d.default, [2], [1], [1], 1),
        cadence.conv1d.default,
        0,
        cadence.im2row.per_tensor,
    ),
    "conv_trivial": (
        replace_ops.ReplaceTrivialConvWithLinear,
        [*_x(2, 4, 3), *_x(6, 4, 3), *_x(6)],
        _conv(cadence.conv1d.default, [1], [0], [1], 1),
        cadence.conv1d.default,
        0,
        aten.linear.default,
    ),
    "rows_view": (
        replace_ops.ReplaceIm2RowWithViewPass,
        _x(2, 3, 4, 5),
        _chain((cadence.im2row.per_tensor, [4, 5], [1, 1], [0, 0], [1, 1], 0)),
        cadence.im2row.per_tensor,
        0,
        aten.view_copy.default,
    ),
    "slice": (
        simplify_ops.SimplifySliceOpPass,
        _x(7),
        _chain((aten.slice_copy.Tensor, -1, -3, 100)),
        aten.slice_copy.Tensor,
        1,
        None,
    ),
    "scalar": (
        replace_ops.ReplaceScalarTensorWithFullPass,
        _x(1),
        lambda b, x: b.call_operator(
            aten.add.Tensor, (x[0], b.call_operator(aten.scalar_tensor.default, (2.0,), {"dtype": torch.float32}))
        ),
        aten.scalar_tensor.default,
        0,
        aten.full.default,
    ),
    "infinity": (
        replace_ops.ReplaceInfArgInFullWithValuePass,
        _x(3),
        _with_full(aten.minimum.default, float("inf"), [3]),
        aten.linear.default,
        0,
        aten.full.default,
    ),
    "cse": (fuse_ops.HierarchicalCSEPass, _x(3), _twice, aten.neg.default, 1, aten.add.Tensor),
    "advance": (
        reorder_ops.AdvanceQuantizeOpAboveDefChainPass,
        _x(2, 6),
        _chain(
            (aten.view_copy.default, [3, 4]),
            (aten.transpose_copy.int, 0, 1),
            (cadence.quantize_per_tensor.default, *_EDGE),
        ),
        aten.linear.default,
        0,
        cadence.quantize_per_tensor.default,
    ),
    "postpone": (
        reorder_ops.PostponeDequantizeOpBelowUseChainPass,
        _q(4, 6),
        _chain(
            (cadence.dequantize_per_tensor.default, *_EDGE),
            (aten.slice_copy.Tensor, 0, 1, 3),
            (aten.view_copy.default, [12]),
        ),
        aten.linear.default,
        0,
        cadence.dequantize_per_tensor.default,
    ),
    "slice_permute": (
        reorder_ops.MoveSliceBeforePermutePass,
        _x(2, 3, 4),
        _chain((aten.permute_copy.default, [2, 0, 1]), (aten.slice_copy.Tensor, 0, 1, 3)),
        aten.linear.default,
        0,
        aten.slice_copy.Tensor,
    ),
    "permute_view": (
        reorder_ops.PostponePermuteOpBelowSqueezeOrUnsqueezeLikeView,
        _x(2, 3, 4),
        _chain((aten.permute_copy.default, [2, 0, 1]), (aten.view_copy.default, [4, 1, 2, 3])),
        aten.linear.default,
        0,
        aten.view_copy.default,
    ),
    "sink": (reorder_ops.SinkOpsCloserToUsePass, _x(3), _late, aten.linear.default, 0, aten.full.default),
    "hoist": (reorder_ops.HoistOpsCloserToDefPass, _x(3), _late, aten.linear.default, 0, aten.slice_copy.Tensor),
    "gelu": (
        decompose_ops.DecomposeAtenApproxGeluPass,
        _x(9),
        lambda b, x: b.call_operator(aten.gelu.default, (x[0],), {"approximate": "tanh"}),
        aten.gelu.default,
        0,
        aten.tanh.default,
    ),
}


@pytest.mark.parametrize("name", _CASES)
def test_passes_keep_the_results(name: str) -> None:
    kind, inputs, build, gone, remaining, comes = _CASES[name]
    before = _graph(inputs, build)
    after = copy.deepcopy(before)
    after = kind()(after).graph_module
    after.graph.lint()
    expected, found = before(*inputs), after(*inputs)
    torch.testing.assert_close(found, expected)
    for node in after.graph.nodes:
        if node.op == "output":
            assert node.args[0][0].meta["val"].shape == expected[0].shape
    assert count_node(after, gone) == remaining
    assert comes is None or count_node(after, comes) >= 1


def _order(graph: GraphModule) -> list[Any]:
    return [node.target for node in graph.graph.nodes if node.op == "call_function"]


def test_calls_are_moved() -> None:
    """Where the calls of the cases above are, before and after."""
    quantize, dequantize = cadence.quantize_per_tensor.default, cadence.dequantize_per_tensor.default
    expected = {
        "advance": [quantize, aten.view_copy.default, aten.transpose_copy.int],
        "postpone": [aten.slice_copy.Tensor, aten.view_copy.default, dequantize],
        "slice_permute": [aten.slice_copy.Tensor, aten.permute_copy.default],
        "sink": [aten.neg.default, *[aten.slice_copy.Tensor] * 2, aten.mul.Tensor, aten.full.default, aten.add.Tensor],
        "hoist": [aten.slice_copy.Tensor, aten.full.default, aten.neg.default, aten.slice_copy.Tensor,
                  aten.mul.Tensor, aten.add.Tensor],
    }  # fmt: skip
    for name, order in expected.items():
        kind, inputs, build, *_ = _CASES[name]
        assert _order(kind()(_graph(inputs, build)).graph_module) == order, name


def test_every_pass_has_a_case_or_a_reason() -> None:
    without = {
        "InitializePipeline", "FinalizePipeline", "CompileTimeTypeDispatchPass",
        "ReplaceSafeSoftmaxWithSoftmax", "ReplaceMulTensorWithMulAndFullOpsPass",  # below
        "RemoveContiguousOpPass", "RemoveBranchedQuantDequant", "ReplaceFunctionallyEquivalentOpTargets",

        "BindOptionalArgsPass", "ReplaceAtenLinalgSvdWithCadenceLinalgSvdPass",
    }  # fmt: skip
    tested = {kind.__name__ for kind, *_ in _CASES.values()}
    assert {kind.__name__ for kind in ALL_CADENCE_PASSES} == tested | without
    assert all(kind in ALL_CADENCE_PASSES for kind in get_passes_in_default_order())


def test_optimisation_levels_and_requests() -> None:
    """CAD-03."""
    lowest, highest = create_cadence_pass_filter(0), create_cadence_pass_filter(4)
    assert lowest(replace_ops.ReplacePT2QuantWithCadenceQuantPass) and not lowest(CompileTimeTypeDispatchPass)
    assert highest(CompileTimeTypeDispatchPass) and not highest(replace_ops.ReplaceConvWithIm2RowAndLinear)
    asked = create_cadence_pass_filter(4, edge_passes_config=EdgePassesConfig(use_im2row_transform=True))
    assert asked(replace_ops.ReplaceConvWithIm2RowAndLinear) and not asked(int)
    assert CadencePassAttribute(opt_level=1) == ALL_CADENCE_PASSES[fuse_ops.FuseMMWithAdd]


@pytest.mark.parametrize(("dtype", "suffix"), [(torch.int8, "asym8s"), (torch.uint8, "asym8u")])
def test_types_are_dispatched(dtype: torch.dtype, suffix: str) -> None:
    x = torch.ones(2, 4, dtype=dtype)
    weight, bias = torch.ones(3, 4, dtype=dtype), torch.ones(3, dtype=torch.int32)
    args = (x, weight, bias, 0, 0, 1374389535, -3, 0, None)
    graph = single_op_builder((x, weight, bias), cadence.quantized_linear.per_tensor, args)
    expected = graph(x, weight, bias)
    CompileTimeTypeDispatchPass()(graph)
    typed = getattr(cadence, f"quantized_linear_{suffix}x{suffix}_{suffix}").per_tensor
    assert count_node(graph, typed) == 1
    assert torch.equal(graph(x, weight, bias)[0], expected[0])


def test_types_without_an_operator_are_refused() -> None:
    x = torch.ones(2, dtype=torch.int16)
    graph = single_op_builder((x, x), cadence.quantized_add.per_tensor, (x, 1.0, 0, x, 1.0, 0, 1.0, 0))
    with pytest.raises(RuntimeError, match=r"Unsupported input types .*int16.* Expected one of"):
        CompileTimeTypeDispatchPass()(graph)


def test_arguments_by_name() -> None:
    x = torch.ones(4)
    graph = single_op_builder((x,), aten.slice_copy.Tensor, (x, 0, 1))
    (node,) = graph.graph.find_nodes(op="call_function", target=aten.slice_copy.Tensor)
    assert [get_arg(node, name) for name in ("dim", "start", "end", "step")] == [0, 1, None, 1]
    set_arg(node, "start", 2)
    set_arg(node, "step", 3)
    assert (get_arg(node, "start", int), get_arg(node, "step", int)) == (2, 3)
    with pytest.raises(TypeError, match="expected start of str, found int"):
        get_arg(node, "start", str)
    with pytest.raises(KeyError, match="has no argument 'begin'"):
        get_arg(node, "begin")


class _Numbers(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten._safe_softmax(x * 2.0, -1) * 3


def test_passes_before_the_edge_dialect() -> None:
    (x,) = _x(2, 5)
    program = torch.export.export(_Numbers(), (x,))
    expected = _Numbers()(x)
    apply_torch_ops_passes(program)
    targets = [node.target for node in program.graph.nodes if node.op == "call_function"]
    assert targets.count(torch.ops.aten.full.default) == 2
    assert torch.ops.aten._softmax.default in targets and torch.ops.aten._safe_softmax.default not in targets
    program.graph.lint()
    torch.testing.assert_close(program.module()(x), expected)


def test_bound_arguments() -> None:
    x = torch.ones(4, 3)
    graph = single_op_builder((x,), aten.slice_copy.Tensor, (x, 1))
    simplify_ops.BindOptionalArgsPass()(graph)
    (node,) = graph.graph.find_nodes(op="call_function", target=aten.slice_copy.Tensor)
    assert len(node.args) == 5 and node.args[1:] == (1, None, None, 1)
