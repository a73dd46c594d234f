# SPDX-License-Identifier: BSD-3-Clause
"""The operators for Samsung's compiler, from ExecuTorch's page for Exynos, with the conditions in their rows. The page
has no limits for ranks and sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import arguments_of, name_of
from sdk.backends.graph.normalization import beyond_last_dimension
from sdk.backends.graph.shapes import shape_of
from sdk.backends.npu.operators import Limits, table
from sdk.backends.transforms.constants import get_constant, is_constant

LIMITS: Final = Limits(
    title="Samsung",
    dtypes=frozenset((torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32)),
    most_dimensions=64,  # of a tensor in PyTorch
    largest_size=2**31 - 1,  # sizes are int32
)

_NAMES = (
    "_log_softmax.default", "_native_batch_norm_legit_no_training.default", "_safe_softmax.default",
    "_softmax.default", "_to_copy.default", "add.Scalar", "add.Tensor", "addmm.default", "avg_pool2d.default",
    "bmm.default", "cat.default", "clamp.default", "clone.default", "constant_pad_nd.default", "convolution.default",
    "div.Scalar", "div.Tensor", "embedding.default", "expand_copy.default", "gelu.default", "hardsigmoid.default",
    "hardswish.default", "hardtanh.default", "leaky_relu.default", "linear.default",
    "max_pool2d_with_indices.default", "maximum.default", "mean.dim", "minimum.default", "mul.Scalar", "mul.Tensor",
    "native_layer_norm.default", "permute_copy.default", "pixel_shuffle.default", "prelu.default", "relu.default",
    "rsqrt.default", "select_copy.int", "slice_copy.Tensor", "sqrt.default", "squeeze_copy.dims", "sub.Scalar",
    "sub.Tensor", "unsqueeze_copy.default", "upsample_bilinear2d.vec", "upsample_nearest2d.vec", "view_copy.default",
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
        "_safe_softmax.default", "hardsigmoid.default", "hardswish.default", "linear.default", "pixel_shuffle.default",
        "prelu.default", "upsample_bilinear2d.vec", "upsample_nearest2d.vec",
    )
)  # fmt: skip
"""The operators that the exporter would decompose and Samsung has."""

Condition = Callable[[Node, dict[str, Any], ExportedProgram], "str | None"]


def refusal(node: Node, program: ExportedProgram) -> str | None:
    """Returns why Samsung's compiler does not get a call of one of its operators, or None if it does."""
    condition = _CONDITIONS.get(name_of(node))
    return None if condition is None else condition(node, arguments_of(node), program)


def _pool(node: Node, given: dict[str, Any], program: ExportedProgram) -> str | None:
    if given["ceil_mode"]:
        return "its output size is rounded up (ceil_mode)"
    kernel = list(given["kernel_size"])
    divisor = given.get("divisor_override")
    if divisor is not None and divisor != kernel[0] * kernel[-1]:
        return f"its divisor is {divisor}, which is not the number of elements in its window"
    if divisor is not None and any(given["padding"]) and not given["count_include_pad"]:
        return "its divisor counts the padding, and count_include_pad does not"
    return None


def _convolution(node: Node, given: dict[str, Any], program: ExportedProgram) -> str | None:
    return "it has an output padding" if given["transposed"] and any(given["output_padding"]) else None


def _joint(node: Node, given: dict[str, Any], program: ExportedProgram) -> str | None:
    constants = sum(is_constant(program, each) for each in given["tensors"])
    return f"it joins {constants} constants; Samsung takes at most one" if constants > 1 else None


def _pad(node: Node, given: dict[str, Any], program: ExportedProgram) -> str | None:
    if given["value"] != 0:
        return f"it pads with {given['value']}; Samsung pads with 0"
    return "it has a negative padding" if min(given["pad"], default=0) < 0 else None


def expanded_axes(size: Sequence[int], shape: Sequence[int]) -> list[int] | None:
    """Returns the dimensions that an expansion repeats, or None if it adds dimensions whose size is not 1."""
    added = len(size) - len(shape)
    if any(each != 1 for each in size[:added]):
        return None
    return [axis for axis, each in enumerate(size[added:]) if each not in (-1, shape[axis])]


def _expansion(node: Node, given: dict[str, Any], program: ExportedProgram) -> str | None:
    shape = shape_of(given["input"] if "input" in given else given["self"])
    axes = expanded_axes(given["size"], shape)
    if axes is None:
        return "it adds a dimension that is not of size 1"
    if axes and len(given["size"]) > len(shape):
        return "it adds a dimension and expands another"
    return f"it expands {len(axes)} dimensions; Samsung expands at most one" if len(axes) > 1 else None


def _sum(node: Node, given: dict[str, Any], program: ExportedProgram) -> str | None:
    return None if given["alpha"] == 1 else f"it multiplies its second operand by {given['alpha']} (alpha)"


def _gelu(node: Node, given: dict[str, Any], program: ExportedProgram) -> str | None:
    return None if given["approximate"] == "none" else "Samsung has no GELU that is approximated by tanh"


def _matrices(node: Node, given: dict[str, Any], program: ExportedProgram) -> str | None:
    if (given["alpha"], given["beta"]) != (1, 1):
        return "it scales its summands (alpha or beta)"
    weight = get_constant(program, given["mat2"])
    bias = get_constant(program, given["self"])
    if weight is None or bias is None:
        return "its second matrix or its bias is not a constant"
    return None if bias.dim() == 1 else "its bias is not a vector"


_CONDITIONS: dict[str, Condition] = {
    "aten._native_batch_norm_legit_no_training.default": lambda node, given, program: (
        None if is_constant(program, given["running_mean"]) else "its statistics are not constants"
    ),
    "aten.add.Scalar": _sum,
    "aten.add.Tensor": _sum,
    "aten.addmm.default": _matrices,
    "aten.avg_pool2d.default": _pool,
    "aten.cat.default": _joint,
    "aten.constant_pad_nd.default": _pad,
    "aten.convolution.default": _convolution,
    "aten.expand_copy.default": _expansion,
    "aten.gelu.default": _gelu,
    "aten.max_pool2d_with_indices.default": _pool,
    "aten.native_layer_norm.default": lambda node, given, program: beyond_last_dimension(node),
    "aten.sub.Scalar": _sum,
    "aten.sub.Tensor": _sum,
}
