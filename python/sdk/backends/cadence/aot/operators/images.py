# SPDX-License-Identifier: BSD-3-Clause
"""Pools, and the windows of a convolution as rows of a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from sdk.backends.cadence.aot.operators.convolution import last, to_channels_first, window
from sdk.backends.cadence.aot.operators.quantize import BYTES
from sdk.backends.cadence.aot.operators.registry import check, check_dtype, operator

_MAX_POOL = "Tensor input, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode"


def _declare_max_pool(is_last: bool) -> None:
    name = f"quantized_max_pool2d_{'nhwc' if is_last else 'nchw'}"

    def max_pool(input: Tensor, kernel_size: Sequence[int], stride: Sequence[int], padding: Sequence[int],
                 dilation: Sequence[int], ceil_mode: bool) -> Tensor:  # fmt: skip
        check(input.dim() == 4, f"cadence::{name}: expected an image of 4 dimensions, found {input.dim()}")
        check_dtype(name, "an input", input, *BYTES, torch.int16)
        image = to_channels_first(input) if is_last else input
        places = (list(kernel_size), list(stride), list(padding), list(dilation), ceil_mode)
        result = F.max_pool2d(image.float(), *places).to(input.dtype)  # there is no pool of every integer dtype
        return result.movedim(1, -1).contiguous() if is_last else result

    operator(name, _MAX_POOL, max_pool)(max_pool)


_declare_max_pool(False)
_declare_max_pool(True)

_AVG_POOL = (
    "Tensor input, int[2] kernel_size, int[2] stride=[], int[2] padding=[], bool ceil_mode=False, "
    "bool count_include_pad=True, int? divisor_override=None, Tensor? in_zero_point=None, bool channel_last=False"
)


def _mean_shape(input: Tensor, kernel_size: Sequence[int], stride: Sequence[int] = (), padding: Sequence[int] = (),
                ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
                in_zero_point: Tensor | None = None, channel_last: bool = False) -> Tensor:  # fmt: skip
    check(input.dim() == 4, f"cadence::avg_pool2d: expected an image of 4 dimensions, found {input.dim()}")
    check(not channel_last, "cadence::avg_pool2d: expected channel_last=False, found True")
    places = (list(kernel_size), list(stride), list(padding) or 0, ceil_mode, count_include_pad, divisor_override)
    return F.avg_pool2d(input.float(), *places).to(input.dtype)


@operator("avg_pool2d", _AVG_POOL, _mean_shape)
def avg_pool2d(input: Tensor, kernel_size: Sequence[int], stride: Sequence[int] = (), padding: Sequence[int] = (),
               ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
               in_zero_point: Tensor | None = None, channel_last: bool = False) -> Tensor:  # fmt: skip
    """With a zero point, padded elements have its value if `count_include_pad` is set, and 0 otherwise. In both cases
    the divisor is the size of the whole window unless `divisor_override` is given."""
    if channel_last:
        raise NotImplementedError(
            "cadence::avg_pool2d: expected channel_last=False, found True: permute the input to N, C, H, W"
        )
    window_size, step, border = list(kernel_size), list(stride), last(padding or [0], 2)
    tail = (ceil_mode, count_include_pad, divisor_override)
    if in_zero_point is None:
        return F.avg_pool2d(input, window_size, step, border, *tail)
    value = float(in_zero_point.item()) if count_include_pad else 0.0
    padded = F.pad(input.float(), (border[1], border[1], border[0], border[0]), value=value)
    limits = torch.iinfo(input.dtype)
    # With ceil_mode, windows that begin in the right border do not count, as in a pool that pads.
    height, width = F.avg_pool2d(input.float(), window_size, step, border, *tail).shape[2:]
    means = F.avg_pool2d(padded, window_size, step, 0, *tail)[:, :, :height, :width]
    return means.round().clamp(limits.min, limits.max).to(input.dtype).contiguous()


_ROWS = "Tensor input, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride, "


def _image(input: Tensor, channel_last: bool) -> Tensor:
    """Returns an image with channels first; a signal becomes an image of height 1."""
    check(input.dim() in (3, 4), f"cadence::im2row: expected 3 or 4 dimensions, found {input.dim()}")
    if input.dim() == 3:
        input = input.unsqueeze(1 if channel_last else 2)
    return to_channels_first(input) if channel_last else input


def _check_zero_point(zero_point: Tensor | None, batch: int) -> None:
    if zero_point is not None:
        check_dtype("im2row", "a zero point", zero_point, torch.int32)
        check(zero_point.numel() in (1, batch),
              f"Input zero point must be a scalar or one number for each of {batch} images, found "
              f"{list(zero_point.shape)}")  # fmt: skip


def _rows_shape(input: Tensor, kernel_size: Sequence[int], dilation: Sequence[int], padding: Sequence[int],
                stride: Sequence[int], in_zero_point: Any, channel_last: bool = False) -> Tensor:  # fmt: skip
    image = _image(input, channel_last)
    zipped = zip(image.shape[2:], *(last(each, 2) for each in (kernel_size, stride, padding, dilation)), strict=True)
    height, width = (window(*each) for each in zipped)
    kernel = last(kernel_size, 2)
    return input.new_empty([image.shape[0], height * width, image.shape[1] * kernel[0] * kernel[1]])


@operator("im2row", _ROWS + "Tensor in_zero_point, bool channel_last=False", _rows_shape)
def im2row(input: Tensor, kernel_size: Sequence[int], dilation: Sequence[int], padding: Sequence[int],
           stride: Sequence[int], in_zero_point: Tensor | None, channel_last: bool = False) -> Tensor:  # fmt: skip
    """Returns (batch, windows, channels * kernel). The padding is filled with the zero point. Channels are the
    outermost dimension of a row, even if the image has channels last."""
    image = _image(input, channel_last)
    _check_zero_point(in_zero_point, image.shape[0])
    zero = 0.0 if in_zero_point is None else in_zero_point.double().reshape(-1, 1, 1, 1)
    places = [last(each, 2) for each in (kernel_size, dilation, padding, stride)]
    rows = F.unfold(image.double() - zero, *places).transpose(1, 2)
    shift = 0.0 if in_zero_point is None else in_zero_point.double().reshape(-1, 1, 1)
    return (rows + shift).to(input.dtype).contiguous()


@operator("im2row.per_tensor", _ROWS + "int in_zero_point, bool channel_last=False", _rows_shape)
def im2row_per_tensor(input: Tensor, kernel_size: Sequence[int], dilation: Sequence[int], padding: Sequence[int],
                      stride: Sequence[int], in_zero_point: int, channel_last: bool = False) -> Tensor:  # fmt: skip
    zero_point = torch.tensor(in_zero_point, dtype=torch.int32)
    return im2row(input, kernel_size, dilation, padding, stride, zero_point, channel_last)


def _transposed_rows_shape(input: Tensor, kernel_size: Sequence[int], dilation: Sequence[int],
                           padding: Sequence[int], stride: Sequence[int], output_padding: Sequence[int],
                           in_zero_point: Any, channel_last: bool = False) -> Tensor:  # fmt: skip
    image = _image(input, channel_last)
    places = [last(each, 2) for each in (kernel_size, dilation, padding, stride, output_padding)]
    count = 1
    for size, kernel, dilated, pad, step, more in zip(image.shape[2:], *places, strict=True):
        count *= (size - 1) * step - 2 * pad + dilated * (kernel - 1) + more + 1
    kernel = last(kernel_size, 2)
    return input.new_empty([image.shape[0], count, kernel[0] * kernel[1] * image.shape[1]])


@operator("transposed_im2row",
          _ROWS + "int[2] output_padding, Tensor in_zero_point, bool channel_last=False",
          _transposed_rows_shape)  # fmt: skip
def transposed_im2row(input: Tensor, kernel_size: Sequence[int], dilation: Sequence[int], padding: Sequence[int],
                      stride: Sequence[int], output_padding: Sequence[int], in_zero_point: Tensor | None,
                      channel_last: bool = False) -> Tensor:  # fmt: skip
    """Returns the windows of the convolution that computes a transposed convolution: its input has `stride - 1` gaps
    between elements. Gaps and padding have the zero point. Rows have the order of the image's dimensions."""
    image = _image(input, channel_last)
    _check_zero_point(in_zero_point, image.shape[0])
    kernel, dilations, paddings, strides, more = (
        last(each, 2) for each in (kernel_size, dilation, padding, stride, output_padding)
    )
    zero: Any = 0.0 if in_zero_point is None else in_zero_point.double().reshape(-1, 1, 1, 1)
    moved = image.double() - zero
    sizes = [(size - 1) * step + 1 for size, step in zip(image.shape[2:], strides, strict=True)]
    stretched = moved.new_zeros([*image.shape[:2], *sizes])
    stretched[:, :, :: strides[0], :: strides[1]] = moved
    border: list[int] = []
    for dim in (1, 0):
        around = dilations[dim] * (kernel[dim] - 1) - paddings[dim]
        border += [around, around + more[dim]]
    rows = F.unfold(F.pad(stretched, border), kernel, dilations)
    windows = rows.reshape(image.shape[0], image.shape[1], kernel[0] * kernel[1], -1).permute(0, 3, 1, 2)
    if channel_last:
        windows = windows.transpose(2, 3)
    shift: Any = 0.0 if in_zero_point is None else in_zero_point.double().reshape(-1, 1, 1)
    return (windows.reshape(image.shape[0], windows.shape[1], -1) + shift).to(input.dtype).contiguous()


@operator("rms_norm", "Tensor X, SymInt[] normalized_shape, Tensor W, float eps", lambda x, *_: x.new_empty(x.size()))
def rms_norm(x: Tensor, normalized_shape: Sequence[int], w: Tensor, eps: float) -> Tensor:
    return w * F.rms_norm(x, list(normalized_shape), eps=eps)
