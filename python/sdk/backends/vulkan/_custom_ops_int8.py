# SPDX-License-Identifier: BSD-3-Clause
"""The operators of `custom_ops_lib` on int8 tensors, and with int8 weights."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from sdk.backends.vulkan._custom_ops_define import define

_MATRIX = "Tensor weights, Tensor weight_sums, Tensor weight_scales"
_ACTIVATION = "Tensor x, float input_scale, int input_zero_point"
_RESULT = "float output_scale, int output_zero_point"
_CONVOLVED = (
    f"{_ACTIVATION}, {_MATRIX}, {_RESULT}, Tensor? bias, SymInt[] kernel_size, SymInt[] stride, SymInt[] padding"
)


def dequantized(x: Tensor, scale: float, zero_point: int) -> Tensor:
    """Dequantises int8."""
    return (x.to(torch.float32) - zero_point) * scale


def quantized(x: Tensor, scale: float, zero_point: int) -> Tensor:
    """Floats as int8: rounded to nearest, ties to even."""
    return torch.clamp(torch.round(x * (1.0 / scale)) + zero_point, -128, 127).to(torch.int8)


def by_output(weights: Tensor, scales: Tensor) -> Tensor:
    """int8 weights times the scale of each output, which is the first dimension."""
    return weights.to(scales.dtype) * scales[: weights.shape[0]].view(-1, *[1] * (weights.dim() - 1))


def _activated(x: Tensor, activation: str) -> Tensor:
    return torch.relu(x) if activation == "relu" else x


def cut(bias: Tensor | None, outputs: int) -> Tensor | None:
    return None if bias is None else bias[:outputs]


@define(f"linear_q8ta_q8csw({_ACTIVATION}, {_MATRIX}, Tensor? bias = None) -> Tensor")
def linear_q8ta_q8csw(
    x: Tensor,
    input_scale: float,
    input_zero_point: int,
    weights: Tensor,
    weight_sums: Tensor,
    weight_scales: Tensor,
    bias: Tensor | None = None,
) -> Tensor:
    """A linear layer on floats, with int8 weights [outputs, inputs]. The GPU rounds the floats to int8 with
    `input_scale` and `input_zero_point`; here they stay floats."""
    return F.linear(x, by_output(weights, weight_scales), cut(bias, weights.shape[0]))


@define(f'q8ta_linear({_ACTIVATION}, {_MATRIX}, {_RESULT}, Tensor? bias = None, str activation = "none") -> Tensor')
@define(
    f'q8ta_linear_gemv({_ACTIVATION}, {_MATRIX}, {_RESULT}, Tensor? bias = None, str activation = "none") -> Tensor'
)
def q8ta_linear(
    x: Tensor,
    input_scale: float,
    input_zero_point: int,
    weights: Tensor,
    weight_sums: Tensor,
    weight_scales: Tensor,
    output_scale: float,
    output_zero_point: int,
    bias: Tensor | None = None,
    activation: str = "none",
) -> Tensor:
    """A linear layer from int8 to int8 with int8 weights [outputs, inputs]. The second name is for a single row."""
    floats = dequantized(x, input_scale, input_zero_point)
    result = F.linear(floats, by_output(weights, weight_scales), cut(bias, weights.shape[0]))
    return quantized(_activated(result, activation), output_scale, output_zero_point)


def _convolve(
    x: Tensor,
    input_scale: float,
    input_zero_point: int,
    weights: Tensor,
    weight_sums: Tensor,
    weight_scales: Tensor,
    output_scale: float,
    output_zero_point: int,
    bias: Tensor | None,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
    activation: str,
) -> Tensor:
    """A convolution from int8 to int8. The weights are [outputs, height * width * inputs of a group], inputs last, and
    padded to a multiple of 4."""
    outputs, inputs = weights.shape[0], x.shape[1] // groups
    matrix = weights[:, : kernel_size[0] * kernel_size[1] * inputs]
    filters = matrix.reshape(outputs, *kernel_size, inputs).permute(0, 3, 1, 2)
    result = F.conv2d(
        dequantized(x, input_scale, input_zero_point),
        by_output(filters, weight_scales),
        cut(bias, outputs),
        stride,
        padding,
        dilation,
        groups,
    )
    return quantized(_activated(result, activation), output_scale, output_zero_point)


for _name in ("q8ta_conv2d", "q8ta_conv2d_pw"):
    define(f"{_name}({_CONVOLVED}, SymInt[] dilation, SymInt groups, str activation) -> Tensor")(_convolve)


@define(f"q8ta_conv2d_dw({_CONVOLVED}, SymInt[] dilation, SymInt groups, str activation) -> Tensor")
def q8ta_conv2d_dw(
    x: Tensor,
    input_scale: float,
    input_zero_point: int,
    weights: Tensor,
    weight_sums: Tensor,
    weight_scales: Tensor,
    output_scale: float,
    output_zero_point: int,
    bias: Tensor | None,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
    activation: str,
) -> Tensor:
    """A depthwise convolution from int8 to int8. The weights are [height, width, channels]."""
    matrix = weights.permute(2, 0, 1).flatten(1)
    return _convolve(
        x,
        input_scale,
        input_zero_point,
        matrix,
        weight_sums,
        weight_scales,
        output_scale,
        output_zero_point,
        bias,
        kernel_size,
        stride,
        padding,
        dilation,
        groups,
        activation,
    )


@define(
    f"q8ta_conv2d_transposed({_CONVOLVED}, SymInt[] output_padding, SymInt[] dilation, SymInt groups, str activation) "
    "-> Tensor"
)
def q8ta_conv2d_transposed(
    x: Tensor,
    input_scale: float,
    input_zero_point: int,
    weights: Tensor,
    weight_sums: Tensor,
    weight_scales: Tensor,
    output_scale: float,
    output_zero_point: int,
    bias: Tensor | None,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    output_padding: list[int],
    dilation: list[int],
    groups: int,
    activation: str,
) -> Tensor:
    """A transposed convolution from int8 to int8. The weights are as for `q8ta_conv2d`."""
    outputs, inputs = weights.shape[0], x.shape[1] // groups
    matrix = by_output(weights[:, : kernel_size[0] * kernel_size[1] * inputs], weight_scales)
    filters = matrix.reshape(groups, outputs // groups, *kernel_size, inputs).permute(0, 4, 1, 2, 3).flatten(0, 1)
    result = F.conv_transpose2d(
        dequantized(x, input_scale, input_zero_point),
        filters,
        cut(bias, outputs),
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )
    return quantized(_activated(result, activation), output_scale, output_zero_point)


@define(
    "q8ta_add(Tensor input_a, Tensor input_b, float input_a_scale, int input_a_zero_point, float input_b_scale, "
    "int input_b_zero_point, float output_scale, int output_zero_point, float alpha) -> Tensor"
)
def q8ta_add(
    input_a: Tensor,
    input_b: Tensor,
    input_a_scale: float,
    input_a_zero_point: int,
    input_b_scale: float,
    input_b_zero_point: int,
    output_scale: float,
    output_zero_point: int,
    alpha: float,
) -> Tensor:
    """a + alpha * b from int8 to int8."""
    a = dequantized(input_a, input_a_scale, input_a_zero_point)
    b = dequantized(input_b, input_b_scale, input_b_zero_point)
    return quantized(a + alpha * b, output_scale, output_zero_point)


@define(f"q8ta_relu(Tensor input, float input_scale, int input_zero_point, {_RESULT}) -> Tensor")
def q8ta_relu(
    input: Tensor, input_scale: float, input_zero_point: int, output_scale: float, output_zero_point: int
) -> Tensor:
    """ReLU from int8 to int8."""
    return quantized(torch.relu(dequantized(input, input_scale, input_zero_point)), output_scale, output_zero_point)


@define(
    "q8ta_pixel_shuffle(Tensor input, float input_scale, int input_zero_point, float output_inv_scale, "
    "int output_zero_point, int upscale_factor) -> Tensor"
)
def q8ta_pixel_shuffle(
    input: Tensor,
    input_scale: float,
    input_zero_point: int,
    output_inv_scale: float,
    output_zero_point: int,
    upscale_factor: int,
) -> Tensor:
    """Pixel shuffle from int8 to int8. The scale of the result is given as its inverse."""
    floats = F.pixel_shuffle(dequantized(input, input_scale, input_zero_point), upscale_factor)
    return quantized(floats, 1.0 / output_inv_scale, output_zero_point)
