# SPDX-License-Identifier: BSD-3-Clause
"""The operators that QNN takes: those that ExecuTorch 1.4 builds for it, with the conditions of its builders. If QNN's
SDK is installed, ExecuTorch also checks each call for the chip with the SDK; this package does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import arguments_of, name_of
from sdk.backends.graph.normalization import beyond_last_dimension, beyond_own_statistics
from sdk.backends.graph.shapes import dtype_of, shape_of
from sdk.backends.npu.operators import Limits, table

LIMITS: Final = Limits(
    title="QNN",
    dtypes=frozenset(
        (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32)
    ),
    most_dimensions=5,
    largest_size=2**31 - 1,
)

_NAMES = (
    "_log_softmax.default", "_native_batch_norm_legit_no_training.default", "_safe_softmax.default",
    "_softmax.default", "_to_copy.default", "_adaptive_avg_pool2d.default", "abs.default", "add.Scalar", "add.Tensor",
    "addmm.default", "adaptive_max_pool2d.default", "alias_copy.default", "amax.default", "amin.default",
    "argmax.default", "argmin.default", "asin.default", "atan.default", "avg_pool2d.default", "avg_pool3d.default",
    "bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor", "bmm.default", "cat.default", "ceil.default",
    "channel_shuffle.default", "clamp.default", "clone.default", "constant_pad_nd.default", "convolution.default",
    "cos.default", "cumsum.default", "div.Scalar", "div.Tensor", "elu.default", "embedding.default", "eq.Tensor",
    "exp.default", "expand_copy.default", "flip.default", "floor.default", "floor_divide.default", "gather.default",
    "ge.Tensor", "gelu.default", "grid_sampler_2d.default", "gt.Tensor", "hardsigmoid.default", "hardswish.default",
    "hardtanh.default", "index.Tensor", "index_put.default", "index_select.default", "instance_norm.default",
    "isinf.default", "isnan.default", "le.Tensor", "leaky_relu.default", "linear.default", "log.default",
    "logical_and.default", "logical_not.default", "lt.Tensor", "matmul.default", "max.dim",
    "max_pool2d_with_indices.default", "maximum.default", "mean.dim", "min.dim", "minimum.default", "mm.default",
    "mul.Scalar", "mul.Tensor", "native_group_norm.default", "native_layer_norm.default", "ne.Tensor", "neg.default",
    "permute_copy.default", "pixel_shuffle.default", "pixel_unshuffle.default", "pow.Tensor_Scalar",
    "pow.Tensor_Tensor", "prelu.default", "reciprocal.default", "relu.default", "repeat.default", "rms_norm.default",
    "round.default", "rsqrt.default", "scatter.src", "select_copy.int", "sigmoid.default", "sign.default",
    "sin.default", "slice_copy.Tensor", "slice_scatter.default", "split_with_sizes_copy.default", "sqrt.default",
    "squeeze_copy.dims", "stack.default", "sub.Scalar", "sub.Tensor", "sum.dim_IntList", "tanh.default",
    "topk.default", "unsqueeze_copy.default", "upsample_bicubic2d.vec", "upsample_bilinear2d.vec",
    "upsample_nearest2d.vec", "view_copy.default", "where.self",
)  # fmt: skip

OPERATORS: Final = table(
    LIMITS.title,
    (
        *(f"aten.{name}" for name in _NAMES),
        "dim_order_ops._to_dim_order_copy.default",
        "dim_order_ops._clone_dim_order.default",
        "getitem",
    ),
)

WHOLE: Final = tuple(
    f"aten.{name}"
    for name in (
        "_safe_softmax.default", "channel_shuffle.default", "elu.default", "floor_divide.default",
        "hardsigmoid.default", "hardswish.default", "instance_norm.default", "leaky_relu.default", "linear.default",
        "matmul.default", "pixel_shuffle.default", "pixel_unshuffle.default", "prelu.default", "rms_norm.default",
        "scatter.src", "stack.default", "upsample_bicubic2d.vec", "upsample_bilinear2d.vec",
        "upsample_nearest2d.vec",
    )
)  # fmt: skip
"""The operators that the exporter would decompose and QNN has."""

Condition = Callable[[Node, dict[str, Any], ExportedProgram], "str | None"]


def refusal(node: Node, program: ExportedProgram) -> str | None:
    """Why QNN does not take a call of an operator that it has; None if it does."""
    condition = _CONDITIONS.get(name_of(node))
    return None if condition is None else condition(node, arguments_of(node), program)


def _average(node: Node, given: dict[str, Any], program: ExportedProgram) -> str | None:
    divisor, window = given.get("divisor_override"), 1
    for size in given["kernel_size"]:
        window *= size
    if divisor is None or divisor == window:
        return None
    return f"its divisor is {divisor}, which is not the number of elements in its window"


def _adaptive(node: Node, given: dict[str, Any], program: ExportedProgram) -> str | None:
    sizes = shape_of(node.args[0])[-2:]
    if any(size % out for size, out in zip(sizes, given["output_size"], strict=True)):
        return "its windows have several sizes: the input is not a multiple of the output"
    return None


def _maximum(node: Node, given: dict[str, Any], program: ExportedProgram) -> str | None:
    return "its window is dilated" if any(each != 1 for each in given["dilation"]) else None


def _expansion(node: Node, given: dict[str, Any], program: ExportedProgram) -> str | None:
    return "it adds a dimension" if len(given["size"]) > len(shape_of(node.args[0])) else None


def _last(node: Node, given: dict[str, Any], program: ExportedProgram) -> str | None:
    last = given["dim"] % max(len(shape_of(node)), 1) == len(shape_of(node)) - 1
    return None if last else "it is not over the last dimension"


def _floats(node: Node, given: dict[str, Any], program: ExportedProgram) -> str | None:
    return None if dtype_of(node.args[0]).is_floating_point else "its operand is not a float"


_CONDITIONS: dict[str, Condition] = {
    "aten._adaptive_avg_pool2d.default": _adaptive,
    "aten.adaptive_max_pool2d.default": _adaptive,
    "aten._log_softmax.default": _last,
    "aten.avg_pool2d.default": _average,
    "aten.expand_copy.default": _expansion,
    "aten.instance_norm.default": lambda node, given, program: beyond_own_statistics(node),
    "aten.isnan.default": _floats,
    "aten.max_pool2d_with_indices.default": _maximum,
    "aten.native_layer_norm.default": lambda node, given, program: beyond_last_dimension(node),
}
