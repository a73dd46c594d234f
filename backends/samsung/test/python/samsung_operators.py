# SPDX-License-Identifier: BSD-3-Clause
"""A call of each operator of ExecuTorch's table for Exynos, and the calls that Samsung's compiler gets for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from npu_models import Function


class Case(NamedTuple):
    """An operator.

    Attributes:
        model: Calls the operator.
        inputs: The model's inputs.
        types: The types of the calls that Samsung's compiler gets.
        params: The parameters of the last of these calls.
    """

    model: Callable[[], nn.Module]
    inputs: tuple[Tensor, ...]
    types: list[str]
    params: dict[str, Any]


IMAGE = torch.linspace(-2, 3, 2 * 4 * 6).reshape(1, 2, 4, 6)
ROWS = torch.linspace(-3, 3, 8).reshape(2, 4)
POSITIVE = ROWS.abs() + 0.5


def _calls(function: Any, *inputs: Tensor, types: list[str], **params: Any) -> Case:
    return Case(lambda: Function(function), inputs, types, params)


def _module(make: Callable[[], nn.Module], given: Tensor, types: list[str], **params: Any) -> Case:
    return Case(make, (given,), types, params)


_WINDOW = {
    "kernel_h": 2, "kernel_w": 2, "stride_h": 2, "stride_w": 2, "padding": "EXPLICIT",
    "explicit_padding": [0, 0, 0, 0],
}  # fmt: skip

_CONVOLUTION = {
    "kernel_h": 3, "kernel_w": 3, "stride_h": 2, "stride_w": 1, "dilation_h": 1, "dilation_w": 1, "groups": 1,
    "padding": "EXPLICIT", "padding_type": "CONSTANT", "explicit_padding": [1, 0, 1, 0], "in_channels": 2,
    "out_channels": 3,
}  # fmt: skip


def _batch_norm() -> nn.Module:
    norm = nn.BatchNorm2d(2)
    norm.running_mean, norm.running_var = torch.tensor([0.5, -1.0]), torch.tensor([2.0, 0.5])
    return norm


CASES: dict[str, Case] = {
    "add": _calls(torch.add, ROWS, POSITIVE, types=["ELTSUM"]),
    "avg_pool2d": _calls(
        lambda x: functional.avg_pool2d(x, 2), IMAGE, types=["AVGPOOL2D"], **_WINDOW, count_include_pad=True
    ),
    "batch_norm": _module(_batch_norm, IMAGE, ["BatchNormalization"], epsilon=1e-5),
    "bmm": _calls(torch.bmm, ROWS[None], ROWS[None].mT.contiguous(), types=["BATCH_MATMUL"]),
    "cat": _calls(lambda a, b: torch.cat([a, b], -1), ROWS, POSITIVE, types=["CONCAT"], axis=1),
    "clamp": _calls(lambda x: x.clamp(-1, 2), ROWS, types=["CLIP"], minimum=-1.0, maximum=2.0),
    "constant_pad_nd": _calls(
        lambda x: functional.pad(x, (1, 2, 3, 4)),
        IMAGE,
        types=["PAD"],
        explicit_padding=[0, 0, 3, 1, 0, 0, 4, 2],
        padding="EXPLICIT",
        padding_type="CONSTANT",
    ),
    "conv2d": _module(lambda: nn.Conv2d(2, 3, 3, (2, 1), (1, 0)), IMAGE, ["CONV2D"], **_CONVOLUTION),
    "conv2d, depthwise": _module(
        lambda: nn.Conv2d(2, 2, 3, (2, 1), (1, 0), groups=2),
        IMAGE,
        ["DWCONV2D"],
        **{**_CONVOLUTION, "groups": 2, "out_channels": 2},
    ),
    "conv2d, transposed": _module(
        lambda: nn.ConvTranspose2d(2, 3, 3, (2, 1), (1, 0)), IMAGE, ["DECONV2D"], **_CONVOLUTION
    ),
    "conv1d": _module(
        lambda: nn.Conv1d(2, 3, 3),
        IMAGE[0, :, :1].mT.reshape(1, 2, 6),
        ["RESHAPE", "CONV2D", "RESHAPE"],
        new_shape=[1, 3, 4],
    ),
    "div": _calls(torch.div, ROWS, POSITIVE, types=["ELTDIV"]),
    "embedding": _module(
        lambda: nn.Embedding(5, 3), torch.tensor([[0, 4, 2]]), ["GATHER"], axis=0, input_type="indices"
    ),
    "expand_copy": _calls(lambda x: x.expand(1, 3, 2, 4), ROWS[None, None], types=["CONCAT"], axis=1),
    "expand_copy, to more dimensions": _calls(
        lambda x: x.expand(1, 2, 4), ROWS, types=["RESHAPE"], new_shape=[1, 2, 4]
    ),
    "gelu": _calls(functional.gelu, ROWS, types=["GELU"]),
    "getitem": _calls(
        lambda x: functional.max_pool2d(x, 2), IMAGE, types=["MAXPOOL2D"], **_WINDOW, dilation_h=1, dilation_w=1
    ),
    "hardsigmoid": _calls(functional.hardsigmoid, ROWS, types=["HardSigmoid"]),
    "hardswish": _calls(functional.hardswish, ROWS, types=["HARDSWISH"]),
    "hardtanh": _calls(functional.hardtanh, ROWS, types=["CLIP"], minimum=-1.0, maximum=1.0),
    "layer_norm": _module(lambda: nn.LayerNorm(4), ROWS, ["LAYERNORM"], epsilon=1e-5),
    "layer_norm, without weights": _module(
        lambda: nn.LayerNorm(4, elementwise_affine=False), ROWS, ["LAYERNORM"], epsilon=1e-5
    ),
    "leaky_relu": _calls(functional.leaky_relu, ROWS, types=["PRELU"]),
    "linear": _module(lambda: nn.Linear(4, 3), ROWS, ["FC"], in_channels=4, out_channels=3),
    "log_softmax": _calls(lambda x: functional.log_softmax(x, -1), ROWS, types=["LOGSOFTMAX"], axis=-1),
    "max_pool2d": _calls(
        lambda x: functional.max_pool2d(x, 2), IMAGE, types=["MAXPOOL2D"], **_WINDOW, dilation_h=1, dilation_w=1
    ),
    "maximum": _calls(torch.maximum, ROWS, POSITIVE, types=["MAXIMUM"]),
    "mean_dim": _calls(lambda x: x.mean((-1, 2)), IMAGE, types=["REDUCEMEAN"], keep_dims=False, axis=[2, 3]),
    "minimum": _calls(torch.minimum, ROWS, POSITIVE, types=["MIN"]),
    "mul": _calls(torch.mul, ROWS, POSITIVE, types=["ELTMUL"]),
    "permute": _calls(lambda x: x.permute(0, 2, 3, 1) * 2, IMAGE, types=["TRANSPOSE", "ELTMUL"]),
    "pixel_shuffle": _calls(
        lambda x: functional.pixel_shuffle(x.reshape(1, 4, 4, 3) * 2, 2),
        IMAGE,
        types=["RESHAPE", "ELTMUL", "DEPTH_TO_SPACE"],
        block_size=2,
        mode="CRD",
    ),
    "prelu": _module(lambda: nn.PReLU(2), IMAGE, ["PRELU"]),
    "relu": _calls(functional.relu, ROWS, types=["RELU"]),
    "reshape": _calls(lambda x: x.reshape(4, 2) * 2, ROWS, types=["RESHAPE", "ELTMUL"]),
    "rsqrt": _calls(torch.rsqrt, POSITIVE, types=["RSQRT"]),
    "select": _calls(
        lambda x: (x * 2).select(-1, -1),
        ROWS,
        types=["ELTMUL", "STRIDEDSLICE"],
        begin=[0, 3],
        end=[2, 4],
        strides=[1, 1],
        shrink_axis_mask=2,
    ),
    "slice_copy": _calls(
        lambda x: (x * 2)[:, -3::2], ROWS, types=["ELTMUL", "STRIDEDSLICE"], begin=[0, 1], end=[2, 4], strides=[1, 2]
    ),
    "softmax": _calls(lambda x: functional.softmax(x, -1), ROWS, types=["SOFTMAX"], axis=-1),
    "sqrt": _calls(torch.sqrt, POSITIVE, types=["SQRT"]),
    "squeeze": _calls(lambda x: (x * 2).squeeze(0), IMAGE, types=["ELTMUL", "RESHAPE"], new_shape=[2, 4, 6]),
    "sub": _calls(torch.sub, ROWS, POSITIVE, types=["SUB"]),
    "to_copy": _calls(lambda x: (x * 2).to(torch.float16), ROWS, types=["ELTMUL", "CAST"], out_dtype="FLOAT16"),
    "unsqueeze": _calls(lambda x: (x * 2).unsqueeze(1), ROWS, types=["ELTMUL", "RESHAPE"], new_shape=[2, 1, 4]),
    "upsample_bilinear2d": _calls(
        lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True),
        IMAGE,
        types=["RESIZE_BILINEAR"],
        align_corners=True,
        upsampling_factor=[2.0, 2.0],
        half_pixel_centers=True,
    ),
    "upsample_nearest2d": _calls(
        lambda x: functional.interpolate(x, size=(8, 6)),
        IMAGE,
        types=["RESIZE_NEAREST_NEIGHBOR"],
        align_corners=False,
        upsampling_factor=[2.0, 1.0],
        half_pixel_centers=True,
    ),
    "add, a number": _calls(lambda x: x + 2, ROWS, types=["ELTSUM"]),
    "addmm": _calls(
        lambda x: torch.addmm(torch.ones(2), x, torch.arange(8.0).reshape(4, 2)),
        ROWS,
        types=["FC"],
        in_channels=4,
        out_channels=2,
    ),
}

DOCUMENTED = [
    "add", "avg_pool2d", "batch_norm", "bmm", "cat", "clamp", "constant_pad_nd", "conv2d", "div", "embedding",
    "expand_copy", "gelu", "getitem", "hardsigmoid", "hardswish", "hardtanh", "layer_norm", "leaky_relu", "linear",
    "log_softmax", "max_pool2d", "maximum", "mean_dim", "minimum", "mul", "permute", "pixel_shuffle", "relu",
    "reshape", "rsqrt", "select", "slice_copy", "softmax", "sqrt", "squeeze", "sub", "to_copy", "unsqueeze",
    "upsample_bilinear2d", "upsample_nearest2d",
]  # fmt: skip
"""The rows of ExecuTorch's table, except those of quantise and dequantise calls, which the quantizer's tests cover."""
