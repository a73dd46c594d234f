# SPDX-License-Identifier: BSD-3-Clause
"""Convolutions and pools, channels first or last. Sums of quantised values are exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from sdk.backends.cadence.aot.operators.quantize import KINDS, quantize
from sdk.backends.cadence.aot.operators.registry import check, check_dtype, operator
from sdk.backends.cadence.aot.utils import is_depthwise_conv

_PLACES = "Tensor input, Tensor weight, Tensor bias, int[] stride, SymInt[] padding, int[] dilation, "
_QUANTIZED = (
    _PLACES
    + "int groups, int input_zero_point, {0} weight_zero_point, {1} bias_scale, float out_scale, int out_zero_point, "
    "{0} out_multiplier, {0} out_shift"
)
_NUMBERS = _QUANTIZED.format("int", "float")
_TENSORS = _QUANTIZED.format("Tensor", "Tensor")
_SAMPLES = (torch.int8, torch.uint8, torch.int16, torch.int32)
"""The dtypes that the reference implementations accept. The kernels do not have int32."""


def last(values: Sequence[int], count: int) -> list[int]:
    """Returns one number for each of `count` spatial dimensions. One number serves all dimensions; of two numbers, a
    1-D convolution takes the last."""
    return list(values[-count:]) if len(values) >= count else list(values) * count


def window(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def to_channels_first(tensor: Tensor) -> Tensor:
    return tensor.movedim(-1, 1)


def weight_to_channels_first(weight: Tensor, spatial: int, depthwise: bool) -> Tensor:
    """Returns weights as (outputs, inputs of a group, kernel). They are given as (outputs, kernel, inputs), or for a
    depthwise convolution as (kernel, outputs)."""
    if weight.dim() == spatial + 1:
        check(depthwise, f"expected weights of {spatial + 2} dimensions, unless each channel is a group")
        return weight.movedim(-1, 0).unsqueeze(1)
    return weight.movedim(-1, 1)


def _convolve(input: Tensor, weight: Tensor, bias: Tensor, stride: Sequence[int], padding: Sequence[int],
              dilation: Sequence[int], groups: int, input_zero_point: int, weight_zero_point: int, bias_scale: float,
              out_scale: float, out_zero_point: int) -> Tensor:  # fmt: skip
    spatial = input.dim() - 2
    check(spatial in (1, 2), f"Input tensor must be 3D or 4D, found {input.dim()}D")
    function: Callable[..., Tensor] = F.conv1d if spatial == 1 else F.conv2d
    places = [last(each, spatial) for each in (stride, padding, dilation)]
    sums = function(input.double() - input_zero_point, weight.double() - weight_zero_point, bias.double(), *places,
                    groups)  # fmt: skip
    return quantize(sums.to(torch.float32) * bias_scale, 1.0 / out_scale, out_zero_point, input.dtype)


def _shape(input: Tensor, weight: Tensor, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
           groups: int, is_last: bool) -> Tensor:  # fmt: skip
    spatial = input.dim() - 2
    check(spatial in (1, 2), f"Input tensor must be 3D or 4D, found {input.dim()}D")
    if is_last:
        depthwise = is_depthwise_conv(groups, input.shape[-1])
        weight = weight_to_channels_first(weight, spatial, depthwise or weight.dim() == spatial + 1)
        input = to_channels_first(input)
    places = [last(each, spatial) for each in (stride, padding, dilation)]
    sizes = [
        window(size, kernel, *each)
        for size, kernel, *each in zip(input.shape[2:], weight.shape[2:], *places, strict=True)
    ]
    channels = weight.shape[0]
    return input.new_empty([input.shape[0], *sizes, channels] if is_last else [input.shape[0], channels, *sizes])


def _declare(name: str, is_last: bool, dtypes: Sequence[torch.dtype] = _SAMPLES, depthwise: bool = False,
             tensors: bool = True, offset: bool = False, typed: bool = False) -> None:  # fmt: skip
    """Declares NAME.per_tensor, which takes quantisation parameters as numbers, and NAME, which takes tensors."""
    channel_dim = -1 if is_last else 1

    def per_tensor(input: Tensor, weight: Tensor, bias: Tensor, stride: Sequence[int], padding: Sequence[int],
                   dilation: Sequence[int], groups: int, input_zero_point: int, weight_zero_point: int,
                   bias_scale: float, out_scale: float, out_zero_point: int, out_multiplier: int, out_shift: int,
                   offset: Tensor | None = None) -> Tensor:  # fmt: skip
        check_dtype(name, "input dtype", input, *dtypes)
        if typed:
            check_dtype(name, "weight dtype", weight, *dtypes)
            check_dtype(name, "bias dtype", bias, torch.int32)
        channels = input.shape[channel_dim]
        is_depthwise = is_depthwise_conv(groups, channels)
        check(is_depthwise or not depthwise,
              f"{name} requires depthwise conv (groups == in_channels), got {groups=}, {channels=}")  # fmt: skip
        tail = (groups, input_zero_point, weight_zero_point, bias_scale, out_scale, out_zero_point)
        if not is_last:
            check(input.is_contiguous(), f"cadence::{name}: expected a contiguous input")
            return _convolve(input, weight, bias, stride, padding, dilation, *tail)
        kernel = weight_to_channels_first(weight, input.dim() - 2, is_depthwise)
        result = _convolve(to_channels_first(input), kernel, bias, stride, padding, dilation, *tail)
        return result.movedim(1, -1).contiguous()

    def shape(input: Tensor, weight: Tensor, bias: Tensor, stride: Sequence[int], padding: Sequence[int],
              dilation: Sequence[int], groups: int, *_: Any, **__: Any) -> Tensor:  # fmt: skip
        check_dtype(name, "bias dtype", bias, torch.int32)
        return _shape(input, weight, stride, padding, dilation, groups, is_last)

    numbers = _NUMBERS + (", Tensor? offset=None" if offset else "")
    operator(f"{name}.per_tensor" if tensors else name, numbers, shape)(per_tensor)
    if tensors and not typed and not depthwise:

        def of_tensors(input: Tensor, weight: Tensor, bias: Tensor, stride: Sequence[int], padding: Sequence[int],
                       dilation: Sequence[int], groups: int, input_zero_point: int, weight_zero_point: Tensor,
                       bias_scale: Tensor, out_scale: float, out_zero_point: int, out_multiplier: Tensor,
                       out_shift: Tensor) -> Tensor:  # fmt: skip
            scales = (int(weight_zero_point.item()), float(bias_scale.item()), out_scale, out_zero_point)
            multiplier = (int(out_multiplier.item()), int(out_shift.item()))
            places = (stride, padding, dilation, groups, input_zero_point)
            return per_tensor(input, weight, bias, *places, *scales, *multiplier)

        operator(name, _TENSORS, shape)(of_tensors)


def _declare_all() -> None:
    _declare("quantized_conv2d_nchw", False)
    _declare("quantized_conv2d_nhwc", True, offset=True)
    _declare("quantized_conv2d_depthwise_nhwc", True, tensors=False)
    _declare("quantized_conv1d_ncl", False)
    _declare("quantized_conv1d_nlc", True, offset=True)
    _declare("quantized_depthwise_conv1d_ncl", False, depthwise=True)
    _declare("quantized_depthwise_conv1d_nlc", True, depthwise=True)
    for layout in ("nchw", "nhwc"):
        for form in ("", "_dilated", "_depthwise"):
            for kind, weights in (("asym8s", "sym8s"), ("asym8u", "sym8u")):
                name = f"quantized_conv2d_{layout}{form}_{kind}x{weights}_{kind}"
                _declare(name, layout == "nhwc", (KINDS[kind],), typed=True)


_declare_all()


def _declare_float(spatial: int, function: Callable[..., Tensor]) -> None:
    name = f"conv{spatial}d"
    sizes = f"int[{spatial}] stride, SymInt[{spatial}] padding, int[{spatial}] dilation"

    def convolution(input: Tensor, weight: Tensor, bias: Tensor, stride: Sequence[int], padding: Sequence[int],
                    dilation: Sequence[int], groups: int) -> Tensor:  # fmt: skip
        return function(input, weight, bias, *(last(each, spatial) for each in (stride, padding, dilation)), groups)

    def shape(input: Tensor, weight: Tensor, bias: Tensor, *places: Any) -> Tensor:
        check_dtype(name, "an input", input, torch.float32)
        for argument, dims in (("an input", input.dim()), ("weights", weight.dim())):
            check(dims == spatial + 2,
                  f"cadence::{name}: expected {argument} of {spatial + 2} dimensions, found {dims}")  # fmt: skip
        inputs, groups = int(input.shape[1]), places[3]
        found = list(weight.shape)
        check(groups > 0 and found[0] % groups == 0 and found[1] * groups == inputs,
              f"cadence::{name}: expected weights (outputs, {inputs} / {groups}, ...), found {found}")  # fmt: skip
        return convolution(input, weight, bias, *places)

    operator(name, f"Tensor input, Tensor weight, Tensor bias, {sizes}, int groups", shape)(convolution)


for _spatial, _function in enumerate((F.conv1d, F.conv2d, F.conv3d), 1):
    _declare_float(_spatial, _function)

_TRANSPOSED = (
    "Tensor input, Tensor weight, Tensor bias, int[] stride, SymInt[] padding, int[] dilation, "
    "SymInt[] output_padding, int groups"
)


def _transposed(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    output_padding: Sequence[int],
    groups: int,
    channel_last: bool,
) -> Tensor:
    """Computes a transposed convolution. The weights are flipped along the kernel, as for a convolution over the
    dilated input: (outputs of a group, inputs, kernel), or with channels last (outputs of a group, kernel, inputs)."""
    spatial = input.dim() - 2
    check(weight.dim() == input.dim(), f"expected weights of {input.dim()} dimensions, found {weight.dim()}")
    if channel_last:
        input, weight = to_channels_first(input), weight.movedim(-1, 1)
    kernel = weight.flip(*range(2, weight.dim())).transpose(0, 1)
    function: Callable[..., Tensor] = F.conv_transpose1d if spatial == 1 else F.conv_transpose2d
    strides, paddings, more, dilations = (last(each, spatial) for each in (stride, padding, output_padding, dilation))
    result = function(input, kernel, bias, strides, paddings, more, groups, dilations)
    return result.movedim(1, -1).contiguous() if channel_last else result


def _transposed_shape(input: Tensor, weight: Tensor, bias: Tensor, stride: Sequence[int], padding: Sequence[int],
                      dilation: Sequence[int], output_padding: Sequence[int], groups: int, *tail: Any,
                      channel_last: bool = False) -> Tensor:  # fmt: skip
    is_last = bool(tail[-1]) if tail and isinstance(tail[-1], bool) else channel_last
    spatial = input.dim() - 2
    sizes = input.shape[1:-1] if is_last else input.shape[2:]
    kernels = weight.shape[1:-1] if is_last else weight.shape[2:]
    places = [last(each, spatial) for each in (stride, padding, dilation, output_padding)]
    found = [
        (size - 1) * step - 2 * pad + dilated * (kernel - 1) + more + 1
        for size, kernel, step, pad, dilated, more in zip(sizes, kernels, *places, strict=True)
    ]
    channels = weight.shape[0] * groups
    return input.new_empty([input.shape[0], *found, channels] if is_last else [input.shape[0], channels, *found])


@operator("transposed_convolution", f"{_TRANSPOSED}, bool channel_last=False", _transposed_shape)
def transposed_convolution(input: Tensor, weight: Tensor, bias: Tensor, stride: Sequence[int],
                           padding: Sequence[int], dilation: Sequence[int], output_padding: Sequence[int],
                           groups: int, channel_last: bool = False) -> Tensor:  # fmt: skip
    return _transposed(input, weight, bias, stride, padding, dilation, output_padding, groups, channel_last)


@operator("quantized_transposed_conv",
          f"{_TRANSPOSED}, int input_zero_point, Tensor weight_zero_point, Tensor bias_scale, float out_scale, "
          "int out_zero_point, Tensor out_multiplier, Tensor out_shift, bool channel_last=False",
          _transposed_shape)  # fmt: skip
def quantized_transposed_conv(input: Tensor, weight: Tensor, bias: Tensor, stride: Sequence[int],
                              padding: Sequence[int], dilation: Sequence[int], output_padding: Sequence[int],
                              groups: int, input_zero_point: int, weight_zero_point: Tensor, bias_scale: Tensor,
                              out_scale: float, out_zero_point: int, out_multiplier: Tensor, out_shift: Tensor,
                              channel_last: bool = False) -> Tensor:  # fmt: skip
    check_dtype("quantized_transposed_conv", "an input", input, *_SAMPLES)
    x, w = input.double() - input_zero_point, weight.double() - weight_zero_point.double()
    sums = _transposed(x, w, bias.double(), stride, padding, dilation, output_padding, groups, channel_last)
    real = sums.to(torch.float32) * float(bias_scale.item())
    return quantize(real, 1.0 / out_scale, out_zero_point, input.dtype)
