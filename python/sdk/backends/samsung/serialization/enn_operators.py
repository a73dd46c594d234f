# SPDX-License-Identifier: BSD-3-Clause
"""The calls of a graph in the form of Samsung's compiler: the operator's type, which arguments are operands, and the
parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from sdk.backends.samsung.operators import expanded_axes
from sdk.backends.samsung.serialization.enn_graph_schema import DTYPES


@dataclass(frozen=True)
class Given:
    """A call's arguments.

    Attributes:
        args: The arguments, in the order of the operator's schema in ATen.
        shapes: The shapes of the operands, by argument.
        result: The shape of the result.
        dtype: The dtype of the result.
    """

    args: Sequence[Any]
    shapes: Mapping[int, Sequence[int]]
    result: Sequence[int]
    dtype: torch.dtype


@dataclass(frozen=True)
class Form:
    """How a call is written.

    Attributes:
        type: The operator's type.
        operands: The indices of the arguments that are operands. Arguments that are None are left out.
        params: A function that makes the parameters.
    """

    type: str
    operands: Sequence[int] = (0,)
    params: Callable[[Given], dict[str, Any]] = field(default=lambda given: {})


def _pair(sizes: Any) -> list[int]:
    given = list(sizes) if isinstance(sizes, (list, tuple)) else [sizes]
    return [given[0], given[-1]]


def _window(given: Given) -> dict[str, Any]:
    kernel = _pair(given.args[1])
    stride = _pair(given.args[2]) if given.args[2] else kernel
    padding = _pair(given.args[3])
    return {
        **dict(zip(("kernel_h", "kernel_w"), kernel, strict=True)),
        **dict(zip(("stride_h", "stride_w"), stride, strict=True)),
        "padding": "EXPLICIT",
        "explicit_padding": padding * 2,
    }


def _average(given: Given) -> dict[str, Any]:
    return {**_window(given), "count_include_pad": bool(given.args[5])}


def _maximum(given: Given) -> dict[str, Any]:
    return {**_window(given), **dict(zip(("dilation_h", "dilation_w"), _pair(given.args[4]), strict=True))}


def convolution(given: Given, activation: str | None) -> dict[str, Any]:
    """The parameters of a convolution with two spatial dimensions."""
    stride, padding, dilation, groups = (given.args[index] for index in (3, 4, 5, 8))
    kernel = given.shapes[1]
    params: dict[str, Any] = {} if activation is None else {"activation": activation}
    return {
        **params,
        "kernel_h": kernel[2],
        "kernel_w": kernel[3],
        "stride_h": stride[0],
        "stride_w": stride[1],
        "dilation_h": dilation[0],
        "dilation_w": dilation[1],
        "groups": groups,
        "padding": "EXPLICIT",
        "padding_type": "CONSTANT",
        "explicit_padding": [*padding, *padding],
        "in_channels": given.shapes[0][1],
        "out_channels": given.result[1],
    }


def _limits(given: Given) -> dict[str, Any]:
    info = torch.finfo(torch.float32)
    low, high = given.args[1:3]
    return {
        "minimum": float(info.min if low is None else low),
        "maximum": float(info.max if high is None else high),
    }


def _padding(given: Given) -> dict[str, Any]:
    """All paddings before the dimensions, then all paddings after them; PyTorch has a pair for each dimension,
    beginning with the last."""
    pairs = list(zip(given.args[1][::2], given.args[1][1::2], strict=True))[::-1]
    pairs = [(0, 0)] * (len(given.shapes[0]) - len(pairs)) + pairs
    sizes = [before for before, _ in pairs] + [after for _, after in pairs]
    return {"explicit_padding": sizes, "padding": "EXPLICIT", "padding_type": "CONSTANT"}


def _selected(given: Given) -> dict[str, Any]:
    shape = list(given.shapes[0])
    dim = given.args[1] % len(shape)
    index = given.args[2] % shape[dim]
    return {**_range(shape, dim, index, index + 1, 1), "shrink_axis_mask": 2**dim}


def _slice(given: Given) -> dict[str, Any]:
    shape = list(given.shapes[0])
    dim = given.args[1] % len(shape)
    size = shape[dim]
    start, end, step = given.args[2:5]
    start, end = 0 if start is None else start, size if end is None else end
    bounds = [min(max(each + size if each < 0 else each, 0), size) for each in (start, end)]
    return _range(shape, dim, bounds[0], bounds[1], step)


def _range(shape: list[int], dim: int, start: int, end: int, step: int) -> dict[str, Any]:
    begin, ends, strides = [0] * len(shape), list(shape), [1] * len(shape)
    begin[dim], ends[dim], strides[dim] = start, end, step
    return {"begin": begin, "end": ends, "strides": strides}


def _mean(given: Given) -> dict[str, Any]:
    rank = len(given.shapes[0])
    axes = sorted(dim % rank for dim in given.args[1] or range(rank))
    return {"keep_dims": bool(given.args[2]), "axis": axes}


def _resized(align_corners: Callable[[Given], bool], factors: int) -> Callable[[Given], dict[str, Any]]:
    def params(given: Given) -> dict[str, Any]:
        scales = given.args[factors] or [
            new / old for new, old in zip(given.result[-2:], given.shapes[0][-2:], strict=True)
        ]
        return {
            "align_corners": align_corners(given),
            "upsampling_factor": [float(each) for each in scales],
            "half_pixel_centers": True,
        }

    return params


def _axis(given: Given) -> dict[str, Any]:
    return {"axis": given.args[1]}


def _new_shape(given: Given) -> dict[str, Any]:
    return {"new_shape": list(given.result)}


def _channels(given: Given) -> dict[str, Any]:
    out, inside = given.shapes[1]
    return {"in_channels": inside, "out_channels": out}


def _cast(given: Given) -> dict[str, Any]:
    return {"out_dtype": DTYPES[given.dtype]}


def expansion(given: Given) -> tuple[str, int, dict[str, Any]]:
    """The type of an expansion, how often its operand is read, and its parameters."""
    axes = expanded_axes(given.args[1], given.shapes[0])
    if not axes:
        return "RESHAPE", 1, _new_shape(given)
    size = given.args[1][len(given.args[1]) - len(given.shapes[0]) + axes[0]]
    return "CONCAT", size, {"axis": axes[0]}


_SHAPES = Form("RESHAPE", params=_new_shape)

FORMS: dict[str, Form] = {
    f"aten.{name}": form
    for name, form in {
        "_log_softmax.default": Form("LOGSOFTMAX", params=_axis),
        "_native_batch_norm_legit_no_training.default": Form(
            "BatchNormalization", (0, 1, 2, 3, 4), lambda given: {"epsilon": given.args[6]}
        ),
        "_safe_softmax.default": Form("SOFTMAX", params=_axis),
        "_softmax.default": Form("SOFTMAX", params=_axis),
        "add.Tensor": Form("ELTSUM", (0, 1)),
        "avg_pool2d.default": Form("AVGPOOL2D", params=_average),
        "bmm.default": Form("BATCH_MATMUL", (0, 1)),
        "clamp.default": Form("CLIP", params=_limits),
        "clone.default": _SHAPES,
        "constant_pad_nd.default": Form("PAD", params=_padding),
        "div.Tensor": Form("ELTDIV", (0, 1)),
        "embedding.default": Form("GATHER", (1, 0), lambda given: {"axis": 0, "input_type": "indices"}),
        "gelu.default": Form("GELU"),
        "hardsigmoid.default": Form("HardSigmoid"),
        "hardswish.default": Form("HARDSWISH"),
        "hardtanh.default": Form("CLIP", params=_limits),
        "linear.default": Form("FC", (0, 1, 2), _channels),
        "max_pool2d_with_indices.default": Form("MAXPOOL2D", params=_maximum),
        "maximum.default": Form("MAXIMUM", (0, 1)),
        "mean.dim": Form("REDUCEMEAN", params=_mean),
        "minimum.default": Form("MIN", (0, 1)),
        "mul.Tensor": Form("ELTMUL", (0, 1)),
        "native_layer_norm.default": Form("LAYERNORM", (0, 2, 3), lambda given: {"epsilon": given.args[4]}),
        "permute_copy.default": Form("TRANSPOSE", params=lambda given: {"perm": list(given.args[1])}),
        "pixel_shuffle.default": Form(
            "DEPTH_TO_SPACE", params=lambda given: {"block_size": given.args[1], "mode": "CRD"}
        ),
        "prelu.default": Form("PRELU", (0, 1)),
        "relu.default": Form("RELU"),
        "rsqrt.default": Form("RSQRT"),
        "select_copy.int": Form("STRIDEDSLICE", params=_selected),
        "slice_copy.Tensor": Form("STRIDEDSLICE", params=_slice),
        "sqrt.default": Form("SQRT"),
        "squeeze_copy.dims": _SHAPES,
        "sub.Tensor": Form("SUB", (0, 1)),
        "to.dtype": Form("CAST", params=_cast),
        "unsqueeze_copy.default": _SHAPES,
        "upsample_bilinear2d.vec": Form("RESIZE_BILINEAR", params=_resized(lambda given: bool(given.args[2]), 3)),
        "upsample_nearest2d.vec": Form("RESIZE_NEAREST_NEIGHBOR", params=_resized(lambda given: False, 2)),
        "view_copy.default": _SHAPES,
    }.items()
}
"""The operators that become one call, by their names in ATen."""

SAYS_DTYPE = frozenset(
    f"aten.{name}"
    for name in (
        "_safe_softmax.default", "_softmax.default", "add.Tensor", "addmm.default", "avg_pool2d.default",
        "bmm.default", "cat.default", "clamp.default", "convolution.default", "div.Tensor", "gelu.default",
        "hardsigmoid.default", "hardswish.default", "hardtanh.default", "linear.default",
        "max_pool2d_with_indices.default", "mean.dim", "mul.Tensor", "native_layer_norm.default", "relu.default",
        "upsample_bilinear2d.vec",
    )
)  # fmt: skip
"""The operators with a parameter for the dtype of a quantised result."""
