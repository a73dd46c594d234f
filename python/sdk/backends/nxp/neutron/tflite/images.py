# SPDX-License-Identifier: BSD-3-Clause
"""Writes convolutions and pools. LiteRT has them only for images of four dimensions with channels last; images with
fewer dimensions get dimensions of size 1."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch

from sdk.backends.npu.graph import Call, Quantization, Ref, Value
from sdk.backends.nxp.neutron.activations import RELUS, finite
from sdk.backends.nxp.neutron.tflite.builder import Builder
from sdk.backends.nxp.neutron.tflite.layout import TO_FIRST, TO_LAST
from sdk.backends.nxp.neutron.tflite.schema import (
    ACTIVATIONS,
    Code,
    ConcatenationOptions,
    Conv2DOptions,
    DepthwiseConv2DOptions,
    Padding,
    Pool2DOptions,
    ResizeBilinearOptions,
    ResizeNearestNeighborOptions,
    TransposeConvOptions,
)


def activation_of(call: Call) -> int:
    """LiteRT's number of the activation function that is fused into an operator; 0 if there is none, or if its limits
    need a separate operator."""
    return ACTIVATIONS.get(RELUS.get((finite(call.low), finite(call.high))), 0)


def finish(b: Builder, call: Call, code: Code, inputs: Sequence[int], options: Any, result: int | None = None) -> None:
    """Adds a call with its activation function."""
    target = b.result(call.results[0]) if result is None else result
    value = b.graph.values[call.results[0]]
    bounds = (finite(call.low), finite(call.high))
    if activation_of(call) or bounds == (None, None):
        b.call(code, inputs, target, options)
        return
    before = b.call(code, inputs, b.temporary(value, b.main.tensors[target].shape), options)
    limit(b, before, target, value, *bounds)


def finish_unfused(b: Builder, call: Call, code: Code, inputs: Sequence[int], options: Any = None) -> None:
    """Adds a call that cannot have a fused activation function in LiteRT, and the activation function as another
    call."""
    target, value = b.result(call.results[0]), b.graph.values[call.results[0]]
    if (finite(call.low), finite(call.high)) == (None, None):
        b.call(code, inputs, target, options)
    else:
        made = b.call(code, inputs, b.temporary(value, b.main.tensors[target].shape), options)
        _activate(b, call, made, target)


def _activate(b: Builder, call: Call, source: int, target: int) -> None:
    """Adds a separate call for the activation function of a call."""
    bounds = (finite(call.low), finite(call.high))
    name = RELUS.get(bounds)
    if name is None:
        limit(b, source, target, b.graph.values[call.results[0]], *bounds)
    else:
        b.call(Code[name], [source], target)


def limit(b: Builder, source: int, target: int, value: Value, low: float | None, high: float | None) -> None:
    """Clamps with MINIMUM and MAXIMUM, for limits that no activation function of LiteRT has."""
    parameters, shape = b.main.tensors[target].quantization, b.main.tensors[target].shape
    if b.main.tensors[source].quantization != parameters:
        source = b.call(Code.QUANTIZE, [source], b.temporary(value, shape))
    if high is not None:
        output = target if low is None else b.temporary(value, shape)
        source = b.call(Code.MINIMUM, [source, number(b, value, high)], output)
    if low is not None:
        b.call(Code.MAXIMUM, [source, number(b, value, low)], target)


def number(b: Builder, value: Value, number: float) -> int:
    """A number as a constant with the scale of a value."""
    given = value.quantization
    assert given is not None
    stored = min(max(round(number / given.scale) + given.zero_point, given.low), given.high)
    return b.constant(torch.tensor([stored], dtype=value.dtype), given)


def bias_of(b: Builder, bias: Ref | None, channels: int, source: Ref, call: Call) -> int:
    """Returns the bias of a layer, or zeros if it has no bias."""
    return b.constant(*_bias(b, bias, channels, source, call))


def _bias(b: Builder, bias: Ref | None, channels: int, source: Ref, call: Call) -> tuple[torch.Tensor, Quantization]:
    weight = b.value(weight_of(call).value).quantization
    given = b.value(source.value).quantization
    assert weight is not None and given is not None
    scales = tuple(given.scale * scale for scale in weight.scales)
    if len(scales) > 1:
        scales *= channels // len(scales)
    data = torch.zeros(channels, dtype=torch.int32)
    if bias is not None:
        value = b.value(bias.value)
        assert value.data is not None and value.dtype == torch.int32
        data = value.data.reshape(-1)
    return data, Quantization(scales, (0,) * len(scales), -(2**31), 2**31 - 1, 0)


def weight_of(call: Call) -> Ref:
    """The weight of a layer."""
    weight: Ref = call.args[2 if call.name == "aten.addmm.default" else 1]
    return weight


class _Image:
    """The operand and the result of a call as images of four dimensions with channels last."""

    def __init__(self, b: Builder, call: Call, rows: int) -> None:
        """`rows` is the position at which a dimension of size 1 is inserted into images with fewer dimensions."""
        self.b, self.call = b, call
        value = b.value(call.args[0].value)
        self.shape = [*value.shape]
        self._is_whole = len(self.shape) == 4
        if self._is_whole:
            self.source = b.given(call.args[0], True)
        else:
            self.shape.insert(rows, 1)
            plain = b.reshaped(b.given(call.args[0], False), self.shape, value)
            self.source = b.transposed(plain, TO_LAST, value)
        self.value, self.result = value, b.graph.values[call.results[0]]
        self.after = [*self.result.shape]
        if not self._is_whole:
            self.after.insert(rows, 1)

    @property
    def target(self) -> int:
        """The tensor for the result."""
        if self._is_whole:
            return self.b.result(self.call.results[0])
        return self.b.temporary(self.result, [self.after[dim] for dim in TO_LAST])

    def end(self, target: int) -> None:
        """Converts the result back to the shape that the graph declares."""
        if not self._is_whole:
            plain = self.b.transposed(target, TO_FIRST, self.result)
            self.b.reshaped(plain, self.result.shape, self.result, self.b.result(self.call.results[0]))

    def padded(self, padding: Sequence[int], filler: int) -> int:
        """Returns the operand with rows and columns of the integer `filler` around it."""
        if not any(padding):
            return self.source
        pairs = [[0, 0], *([each, each] for each in padding), [0, 0]]
        shape = [size + sum(pair) for size, pair in zip(self.b.main.tensors[self.source].shape, pairs, strict=True)]
        constant = self.b.constant(torch.tensor([filler], dtype=self.value.dtype), self.value.quantization)
        inputs = [self.source, self.b.integers(pairs), constant]
        return self.b.call(Code.PADV2, inputs, self.b.temporary(self.value, shape))


def _is_same(
    before: Sequence[int], after: Sequence[int], kernel: Any, stride: Any, padding: Any, dilation: Any
) -> bool:
    """Whether a padding is the one that LiteRT calculates from the sizes."""
    for size, out, width, step, pad, factor in zip(before, after, kernel, stride, padding, dilation, strict=True):
        total = max((out - 1) * step + (width - 1) * factor + 1 - size, 0)
        if out != -(-size // step) or total // 2 != pad:
            return False
    return True


def _pair(given: Sequence[int], default: int) -> list[int]:
    """Returns sizes for rows and columns; a single size is that of columns."""
    return [default, *given] if len(given) == 1 else list(given)


def convolution(b: Builder, call: Call) -> None:
    _, weight, bias, stride, padding, dilation, transposed, _, groups = call.args
    image = _Image(b, call, 2)
    value = b.value(weight.value)
    assert value.data is not None and value.quantization is not None
    data = value.data if value.data.dim() == 4 else value.data.unsqueeze(2)
    steps, around, factors = _pair(stride, 1), _pair(padding, 0), _pair(dilation, 1)
    added = _bias(b, bias, image.after[1], call.args[0], call)
    target = image.target
    if transposed:
        _transposed(image, data, value.quantization, added, steps, around, target)
    else:
        is_same = _is_same(image.shape[2:], image.after[2:], data.shape[2:], steps, around, factors)
        assert image.value.quantization is not None
        source = image.source if is_same else image.padded(around, image.value.quantization.zero_point)
        kind = Padding.SAME if is_same and any(around) else Padding.VALID
        if groups == image.shape[1] > 1:
            constant = b.constant(data.permute(1, 2, 3, 0), value.quantization, 3)
            multiplier = data.shape[0] // groups
            options: Any = DepthwiseConv2DOptions(
                kind, steps[1], steps[0], multiplier, activation_of(call), factors[1], factors[0]
            )
            finish(b, call, Code.DEPTHWISE_CONV_2D, [source, constant, b.constant(*added)], options, target)
        else:
            options = Conv2DOptions(kind, steps[1], steps[0], activation_of(call), factors[1], factors[0])
            parts = _groups(b, image.value, source, data, value.quantization, added, groups)
            _convolved(b, call, parts, options, target)
    image.end(target)


def _groups(
    b: Builder,
    image: Value,
    source: int,
    weight: torch.Tensor,
    given: Quantization,
    bias: tuple[torch.Tensor, Quantization],
    groups: int,
) -> list[list[int]]:
    """The operands of a convolution for each group of channels."""
    if groups == 1:
        return [[source, b.constant(weight.permute(0, 2, 3, 1), given, 0), b.constant(*bias)]]
    found, count, size = [], weight.shape[0] // groups, list(b.main.tensors[source].shape)
    size[3] //= groups
    for group in range(groups):
        part = slice(group * count, (group + 1) * count)
        begin = b.integers([0, 0, 0, group * size[3]])
        channels = b.call(Code.SLICE, [source, begin, b.integers(size)], b.temporary(image, size))
        kernel = b.constant(weight[part].permute(0, 2, 3, 1), _part(given, part), 0)
        found.append([channels, kernel, b.constant(bias[0][part], _part(bias[1], part))])
    return found


def _part(given: Quantization, part: slice) -> Quantization:
    if len(given.scales) == 1:
        return given
    return dataclasses.replace(given, scales=given.scales[part], zero_points=given.zero_points[part])


def _convolved(b: Builder, call: Call, parts: list[list[int]], options: Any, target: int) -> None:
    """Adds a convolution for each group, whose results are joined."""
    if len(parts) == 1:
        finish(b, call, Code.CONV_2D, parts[0], options, target)
        return
    value, shape = b.graph.values[call.results[0]], list(b.main.tensors[target].shape)
    shape[3] //= len(parts)
    results = []
    for inputs in parts:
        results.append(b.temporary(value, shape))
        finish(b, call, Code.CONV_2D, inputs, options, results[-1])
    b.call(Code.CONCATENATION, results, target, ConcatenationOptions(3))


def _transposed(
    image: _Image,
    weight: torch.Tensor,
    given: Quantization,
    bias: tuple[torch.Tensor, Quantization],
    stride: Sequence[int],
    padding: Sequence[int],
    target: int,
) -> None:
    """LiteRT computes the result without padding; a slice then removes the padding."""
    b, call = image.b, image.call
    batch, rows, columns, channels = b.main.tensors[target].shape
    kernel = weight.shape[2:]
    sizes = zip(image.shape[2:], stride, kernel, padding, (rows, columns), strict=True)
    whole = [batch, *(max((size - 1) * step + width, pad + out) for size, step, width, pad, out in sizes), channels]
    is_whole = whole == [batch, rows, columns, channels]
    inputs = [b.integers(whole), b.constant(weight.permute(1, 2, 3, 0), given, 0), image.source, b.constant(*bias)]
    options = TransposeConvOptions(Padding.VALID, stride[1], stride[0])
    value = b.graph.values[call.results[0]]
    has_limits = (finite(call.low), finite(call.high)) != (None, None)
    made = b.call(
        Code.TRANSPOSE_CONV, inputs, target if is_whole and not has_limits else b.temporary(value, whole), options
    )
    if not is_whole:
        shape = [batch, rows, columns, channels]
        begin, size = b.integers([0, *padding, 0]), b.integers(shape)
        made = b.call(Code.SLICE, [made, begin, size], b.temporary(value, shape) if has_limits else target)
    if has_limits:
        _activate(b, call, made, target)


def maximum(b: Builder, call: Call) -> None:
    kernel, stride, padding = (_window(each) for each in call.args[1:4])
    image = _Image(b, call, 0)
    steps = stride or kernel
    is_same = _is_same(image.shape[2:], image.after[2:], kernel, steps, padding, [1, 1])
    source = image.source if is_same else image.padded(padding, torch.iinfo(image.value.dtype).min)
    _pool(image, Code.MAX_POOL_2D, source, kernel, steps, Padding.SAME if is_same and any(padding) else Padding.VALID)


def average(b: Builder, call: Call) -> None:
    kernel, stride, padding = (_window(each) for each in call.args[1:4])
    image = _Image(b, call, 0)
    assert image.value.quantization is not None
    # LiteRT's averages do not include its own padding.
    source = image.padded(padding, image.value.quantization.zero_point)
    _pool(image, Code.AVERAGE_POOL_2D, source, kernel, stride or kernel, Padding.VALID)


def adaptive_average(b: Builder, call: Call) -> None:
    image = _Image(b, call, 0)
    kernel = [size // out for size, out in zip(image.shape[2:], image.after[2:], strict=True)]
    _pool(image, Code.AVERAGE_POOL_2D, image.source, kernel, kernel, Padding.VALID)


def _window(given: Any) -> list[int]:
    sizes = list(given) if isinstance(given, (list, tuple)) else [given]
    return sizes * 2 if len(sizes) == 1 else sizes


def _pool(
    image: _Image, code: Code, source: int, kernel: Sequence[int], stride: Sequence[int], padding: Padding
) -> None:
    target = image.target
    options = Pool2DOptions(padding, stride[1], stride[0], kernel[1], kernel[0])
    image.b.call(code, [source], target, options)
    image.end(target)


def bilinear(b: Builder, call: Call) -> None:
    corners = bool(call.args[2])
    _resized(b, call, Code.RESIZE_BILINEAR, ResizeBilinearOptions(corners, not corners))


def nearest(b: Builder, call: Call) -> None:
    _resized(b, call, Code.RESIZE_NEAREST_NEIGHBOR, ResizeNearestNeighborOptions(False, False))


def _resized(b: Builder, call: Call, code: Code, options: Any) -> None:
    image = _Image(b, call, 0)
    target = image.target
    b.call(code, [image.source, b.integers(image.after[2:])], target, options)
    image.end(target)
