# SPDX-License-Identifier: BSD-3-Clause
"""The operators on images: convolutions, pools and padding. Sums are computed in float64, which holds them exactly."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from sdk.backends.cortex_m.ops.fixed_point import requantize, wrapped

_PHYSICAL = (0, 2, 3, 1)
"""The dimensions that the numbers of `pad` refer to, for an image in the format channels_last."""


def is_channels_last(tensor: Tensor) -> bool:
    """Whether an image is in memory as batch, height, width, channels. The order of dimensions of size 1 does not
    matter."""
    stride = 1
    for dim in reversed(_PHYSICAL) if tensor.dim() == len(_PHYSICAL) else ():
        if tensor.shape[dim] != 1 and tensor.stride(dim) != stride:
            return False
        stride *= tensor.shape[dim]
    return tensor.dim() == len(_PHYSICAL)


def to_physical_order(numbers: Sequence[int], tensor: Tensor) -> list[int]:
    """Four numbers, one for each dimension of an image, in the order that `pad` has for this tensor."""
    return [numbers[dim] for dim in _PHYSICAL] if is_channels_last(tensor) else list(numbers)


def _image(values: Tensor) -> Tensor:
    return values.to(torch.int8).contiguous(memory_format=torch.channels_last)


def _pair(values: Sequence[int]) -> tuple[int, int]:
    first, second = values if len(values) == 2 else (values[0], values[0])
    return first, second


def _scaled(sums: Tensor, bias: Tensor | None, multipliers: Tensor, shifts: Tensor, zero_point: int, low: int,
            high: int) -> Tensor:  # fmt: skip
    by_channel = (1, -1, 1, 1)
    integers = sums.to(torch.int64) + (0 if bias is None else bias.to(torch.int64).reshape(by_channel))
    scales = (each.to(torch.int64).reshape(by_channel) for each in (multipliers, shifts))
    return _image((requantize(wrapped(integers), *scales) + zero_point).clamp(low, high))


def quantized_conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    input_offset: int,
    output_offset: int,
    requantize_multipliers: Tensor,
    requantize_shifts: Tensor,
    activation_min: int,
    activation_max: int,
    scratch: Tensor,
) -> Tensor:
    """Weights (outputs, height, width, inputs of a group)."""
    kernel = weight.permute(0, 3, 1, 2).double()
    groups = input.shape[1] // weight.shape[3]
    places = (_pair(stride), _pair(padding), _pair(dilation))
    sums = F.conv2d(input.double() + input_offset, kernel, None, *places, groups)
    scales = (requantize_multipliers, requantize_shifts)
    return _scaled(sums, bias, *scales, output_offset, activation_min, activation_max)


def quantized_depthwise_conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    depth_multiplier: int,
    input_offset: int,
    output_offset: int,
    requantize_multipliers: Tensor,
    requantize_shifts: Tensor,
    activation_min: int,
    activation_max: int,
    scratch: Tensor,
) -> Tensor:
    """Weights (1, height, width, outputs); output channel c reads input channel c / depth_multiplier."""
    if input.shape[1] * depth_multiplier != weight.shape[3]:
        raise ValueError(
            f"cortex_m::quantized_depthwise_conv2d: expected weights of {input.shape[1]} inputs * {depth_multiplier}, "
            f"found {weight.shape[3]} outputs"
        )
    kernel = weight.permute(3, 0, 1, 2).double()
    places = (_pair(stride), _pair(padding), _pair(dilation))
    sums = F.conv2d(input.double() + input_offset, kernel, None, *places, input.shape[1])
    scales = (requantize_multipliers, requantize_shifts)
    return _scaled(sums, bias, *scales, output_offset, activation_min, activation_max)


def quantized_transpose_conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    output_padding: Sequence[int],
    dilation: Sequence[int],
    input_offset: int,
    output_offset: int,
    requantize_multipliers: Tensor,
    requantize_shifts: Tensor,
    activation_min: int,
    activation_max: int,
    scratch: Tensor,
    output_scratch: Tensor,
) -> Tensor:
    """Weights (outputs, height, width, inputs)."""
    kernel = weight.permute(3, 0, 1, 2).double()
    places = (_pair(stride), _pair(padding), _pair(output_padding), 1, _pair(dilation))
    sums = F.conv_transpose2d(input.double() + input_offset, kernel, None, *places)
    scales = (requantize_multipliers, requantize_shifts)
    return _scaled(sums, bias, *scales, output_offset, activation_min, activation_max)


def quantized_avg_pool2d(
    input: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    zero_point: int,
    multiplier: int,
    shift: int,
    scratch: Tensor,
) -> Tensor:
    """Averages the elements that are in the image, rounded to nearest, ties away from zero. The result has the scale
    and the zero point of the input, so the zero points and the multiplier do not affect it."""
    places = (_pair(kernel_size), _pair(stride or kernel_size), _pair(padding))

    def sums_of(values: Tensor) -> Tensor:
        return F.avg_pool2d(values, *places, divisor_override=1).to(torch.int64)

    sums = sums_of(input.double())
    counts = sums_of(torch.ones_like(input, dtype=torch.float64))
    halves = torch.div(counts, 2, rounding_mode="trunc")
    return _image(torch.div(sums + torch.where(sums > 0, halves, -halves), counts, rounding_mode="trunc"))


def quantized_max_pool2d(
    input: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    input_zero_point: int,
    output_zero_point: int,
    activation_min: int,
    activation_max: int,
) -> Tensor:
    if input_zero_point != output_zero_point:
        raise ValueError(
            "cortex_m::quantized_max_pool2d: expected one zero point for the input and the output, found "
            f"{input_zero_point} and {output_zero_point}"
        )
    places = (_pair(kernel_size), _pair(stride or kernel_size), _pair(padding), _pair(dilation), ceil_mode)
    return _image(F.max_pool2d(input.double(), *places).clamp(activation_min, activation_max))


def pad(input: Tensor, pre_pad: Sequence[int], post_pad: Sequence[int], pad_value: int) -> Tensor:
    """Pads four dimensions in the order of the input's memory: batch, height, width, channels for an image in the
    format channels_last; otherwise the tensor's own order, with dimensions of size 1 added before."""
    is_image = is_channels_last(input)
    dims = _PHYSICAL if is_image else tuple(range(input.dim() - 4, input.dim()))
    amounts = dict(zip(dims, zip(pre_pad, post_pad, strict=True), strict=True))
    widths = [amount for dim in reversed(range(input.dim())) for amount in amounts[dim]]
    padded = F.pad(input, widths, value=pad_value)
    return padded.contiguous(memory_format=torch.channels_last) if is_image else padded
