# SPDX-License-Identifier: BSD-3-Clause
"""Registers `torch.ops.cortex_m` when it is imported.

The schemas come from kernels/cortex_m/functions.yaml. The implementations are bit-exact with the kernels, and
work on fake tensors. Offsets in schemas are negative zero points; weights are symmetric.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.library import Library

from sdk.backends.cortex_m.ops.fixed_point import requantize, wrapped
from sdk.backends.cortex_m.ops.images import (
    pad,
    quantized_avg_pool2d,
    quantized_conv2d,
    quantized_depthwise_conv2d,
    quantized_max_pool2d,
    quantized_transpose_conv2d,
)
from sdk.backends.cortex_m.ops.softmax import OUTPUT_ZERO_POINT
from sdk.backends.cortex_m.ops.softmax import softmax as fixed_point_softmax
from sdk.exir.operator.definition import define

lib = Library("cortex_m", "FRAGMENT")

_HEADROOM = 20
"""The number of bits by which the operands of an addition are shifted left."""
_INT8 = (-128, 127)


def quantize_per_tensor(
    input: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: torch.dtype
) -> Tensor:
    return torch.clamp(torch.round(input * (1.0 / scale)) + zero_point, quant_min, quant_max).to(dtype)


def dequantize_per_tensor(
    input: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: torch.dtype
) -> Tensor:
    return (input.to(torch.float32) - zero_point) * scale


def quantized_add(
    self: Tensor,
    self_zero_point: int,
    self_multiplier: int,
    self_shift: int,
    other: Tensor,
    other_zero_point: int,
    other_multiplier: int,
    other_shift: int,
    output_zero_point: int,
    output_multiplier: int,
    output_shift: int,
    activation_min: int,
    activation_max: int,
) -> Tensor:
    def scaled(values: Tensor, zero_point: int, multiplier: int, shift: int) -> Tensor:
        return requantize(wrapped((values.to(torch.int64) - zero_point) << _HEADROOM), multiplier, shift)

    sums = scaled(self, self_zero_point, self_multiplier, self_shift) + scaled(
        other, other_zero_point, other_multiplier, other_shift
    )
    results = requantize(wrapped(sums), output_multiplier, output_shift) + output_zero_point
    return results.clamp(activation_min, activation_max).to(torch.int8)


def quantized_mul(
    self: Tensor,
    self_zero_point: int,
    other: Tensor,
    other_zero_point: int,
    output_zero_point: int,
    output_multiplier: int,
    output_shift: int,
) -> Tensor:
    products = (self.to(torch.int64) - self_zero_point) * (other.to(torch.int64) - other_zero_point)
    return (requantize(products, output_multiplier, output_shift) + output_zero_point).clamp(*_INT8).to(torch.int8)


def quantized_activation(input: Tensor, lut: Tensor) -> Tensor:
    """A function of one variable as the table of its 256 values, the value of -128 first."""
    if lut.numel() != 256:
        raise ValueError(f"cortex_m::quantized_activation: expected a table of 256 values, found {lut.numel()}")
    return torch.empty_like(input).copy_(lut.flatten()[input.to(torch.int64) + 128])


def quantized_linear(
    input: Tensor,
    weights: Tensor,
    bias: Tensor | None,
    kernel_sum: Tensor | None,
    input_offset: int,
    filter_offset: int,
    output_offset: int,
    requantize_multipliers: Sequence[int],
    requantize_shifts: Sequence[int],
    activation_max: int,
    activation_min: int,
) -> Tensor:
    """Weights (outputs, inputs). `kernel_sum` is the bias, plus the input offset times the sums of the weights."""
    offset = input_offset if kernel_sum is None else 0
    sums = (input.double() + offset) @ (weights.double() + filter_offset).T
    added = kernel_sum if kernel_sum is not None else bias
    integers = sums.to(torch.int64) + (0 if added is None else added.to(torch.int64).flatten())
    multiplier, shift = (
        torch.tensor(list(each), dtype=torch.int64, device=input.device)
        for each in (requantize_multipliers, requantize_shifts)
    )
    results = requantize(wrapped(integers), multiplier, shift) + output_offset
    return results.clamp(activation_min, activation_max).to(torch.int8)


def quantized_batch_matmul(
    lhs: Tensor,
    lhs_zero_point: int,
    rhs_transposed: Tensor,
    rhs_zero_point: int,
    output_zero_point: int,
    output_multiplier: int,
    output_shift: int,
    scratch: Tensor,
) -> Tensor:
    """Matrices (batch, m, k) and (batch, n, k). The zero points in the schema are negated for both."""
    sums = (lhs.double() + lhs_zero_point) @ (rhs_transposed.double() + rhs_zero_point).transpose(1, 2)
    results = requantize(wrapped(sums.to(torch.int64)), output_multiplier, output_shift) + output_zero_point
    return results.clamp(*_INT8).to(torch.int8)


def softmax(
    input: Tensor,
    dim: int,
    input_zero_point: int,
    output_zero_point: int,
    input_multiplier: int,
    input_shift: int,
    diff_min: int,
) -> Tensor:
    """Probabilities with the scale 1/256 and the zero point -128."""
    if output_zero_point != OUTPUT_ZERO_POINT:
        raise ValueError(f"cortex_m::softmax: expected the output zero point -128, found {output_zero_point}")
    return fixed_point_softmax(input, dim, input_multiplier, input_shift, diff_min)


def transpose(input: Tensor, perm: Sequence[int]) -> Tensor:
    return input.permute(tuple(perm)).contiguous()


_EDGE = "Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype"
_PLACES = "int[] stride, int[] padding, {}int[] dilation, "
_CONVOLUTION = (
    "Tensor input, Tensor weight, Tensor? bias, {}int input_offset, int output_offset, Tensor requantize_multipliers, "
    "Tensor requantize_shifts, int activation_min, int activation_max, Tensor scratch"
)
_POOL = "Tensor input, int[] kernel_size, int[] stride, int[] padding, "
_SCHEMAS = {
    quantize_per_tensor: _EDGE,
    dequantize_per_tensor: _EDGE,
    quantized_add: (
        "Tensor self, int self_zero_point, int self_multiplier, int self_shift, Tensor other, int other_zero_point, "
        "int other_multiplier, int other_shift, int output_zero_point, int output_multiplier, int output_shift, "
        "int activation_min, int activation_max"
    ),
    quantized_mul: (
        "Tensor self, int self_zero_point, Tensor other, int other_zero_point, int output_zero_point, "
        "int output_multiplier, int output_shift"
    ),
    quantized_activation: "Tensor input, Tensor lut",
    torch.minimum: "Tensor self, Tensor other",
    torch.maximum: "Tensor self, Tensor other",
    quantized_linear: (
        "Tensor input, Tensor weights, Tensor? bias, Tensor? kernel_sum, int input_offset, int filter_offset, "
        "int output_offset, int[] requantize_multipliers, int[] requantize_shifts, int activation_max, "
        "int activation_min"
    ),
    softmax: (
        "Tensor input, int dim, int input_zero_point, int output_zero_point, int input_multiplier, int input_shift, "
        "int diff_min"
    ),
    transpose: "Tensor input, int[] perm",
    pad: "Tensor input, int[] pre_pad, int[] post_pad, int pad_value",
    quantized_conv2d: _CONVOLUTION.format(_PLACES.format("")),
    quantized_depthwise_conv2d: _CONVOLUTION.format(_PLACES.format("") + "int depth_multiplier, "),
    quantized_transpose_conv2d: _CONVOLUTION.format(_PLACES.format("int[] output_padding, "))
    + ", Tensor output_scratch",
    quantized_avg_pool2d: _POOL + "int zero_point, int multiplier, int shift, Tensor scratch",
    quantized_max_pool2d: _POOL
    + "int[] dilation, bool ceil_mode, int input_zero_point, int output_zero_point, int activation_min, "
    "int activation_max",
    quantized_batch_matmul: (
        "Tensor lhs, int lhs_zero_point, Tensor rhs_transposed, int rhs_zero_point, int output_zero_point, "
        "int output_multiplier, int output_shift, Tensor scratch"
    ),
}
for _function, _arguments in _SCHEMAS.items():
    define(lib, _function.__name__, _arguments, _function, _function, "Tensor(a!) out")
