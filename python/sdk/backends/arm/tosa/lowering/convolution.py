# SPDX-License-Identifier: BSD-3-Clause
"""Convolutions of one, two and three dimensions, in groups and transposed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.lowering.call import Call, Placed
from sdk.backends.arm.tosa.lowering.registry import lowers
from sdk.backends.arm.tosa.lowering.windows import MOST, channels_last, fitted, windows
from sdk.backends.arm.tosa.parts import MOST_READ, spans
from sdk.backends.arm.tosa.schema import DType, Op
from sdk.backends.arm.tosa.types import FLOATS

_MOST_STEPS = 7500
"""The largest product of kernel elements and groups of four input channels for one sum: the loops of Arm's emulation
layer have eight iterations for each, and lavapipe ends loops after 65,535 iterations (`parts`)."""

_CONVOLUTIONS = ("CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D")


@lowers("aten.convolution.default")
def convolution(call: Call) -> Placed:
    if call.dtype not in FLOATS:
        raise UnsupportedError("it is a convolution of integers, and not quantised")
    return convolved(call)


def convolved(call: Call) -> Placed:
    """A convolution: of floats, or of integers as a subclass of `Call` defines them."""
    rank = len(call.shape)
    order = channels_last(rank)
    value = call.value("input", order)
    if rank == 3:  # one dimension is a height, with the width 1
        value = call.b.reshape(value, (value.shape[0], value.shape[1], 1, value.shape[2]))
    result = _transposed(call, value) if call["transposed"] else _direct(call, value)
    return Placed(call.b.reshape(result, [call.shape[dim] for dim in order]), order)


def _direct(call: Call, value: Value) -> Value:
    kernel = call.shape_of("weight")[2:]
    found = windows(kernel, call["stride"], call["padding"], call["dilation"], len(kernel))
    results = list(call.shape[2:])
    if len(kernel) == 1:
        found += windows([1], [1], [0], [1], 1)
        results.append(1)
    value, pads = fitted(call.b, value, found, results)
    attributes = {
        "pad": [each for pair in pads for each in pair],
        "stride": [window.stride for window in found],
        "dilation": [window.dilation for window in found],
    }
    groups, channels = call["groups"], call.shape[1]
    shape = (value.shape[0], *results, channels)
    if groups > 1 and groups == value.shape[-1] and len(found) == 2:
        # [outputs, 1, height, width] as [height, width, input, output]: outputs of one input are adjacent
        weight = _weight(call, (2, 3, 0, 1), len(found))
        weight = call.b.reshape(weight, (*weight.shape[:2], groups, channels // groups))
        sums = convolution_sums(call, "DEPTHWISE_CONV2D", value, weight, call.bias(channels), shape, attributes)
        return call.finished(sums, 0)
    name = "CONV2D" if len(found) == 2 else "CONV3D"
    weight = _weight(call, channels_last(len(found) + 2), len(found))
    return _in_groups(
        call,
        value,
        weight,
        lambda part, each, bias, size: convolution_sums(call, name, part, each, bias, (*shape[:-1], size), attributes),
    )


def scaled(b: Builder, sums: Value, factor: np.ndarray, summand: np.ndarray) -> Value | None:
    """Folds a factor and a summand for each channel into the convolution that computes `sums`, with new weights
    computed in float64. Returns None if `sums` is not the result of a float32 convolution with constant weights and
    biases."""
    found = b.producer(sums)
    if found is None or found[0].name not in _CONVOLUTIONS or sums.dtype != DType.FP32:
        return None
    op, attributes, (value, weight, bias, *zeros) = found
    assert isinstance(weight, Value) and isinstance(bias, Value)
    if weight.constant is None or bias.constant is None:
        return None
    channels_first = factor.reshape(-1, *(1,) * (weight.rank - 1))
    shaped = factor.reshape(weight.shape[2:]) if op.name == "DEPTHWISE_CONV2D" else channels_first
    weights = (weight.constant * shaped).astype(np.float32)
    biases = (np.broadcast_to(bias.constant.reshape(-1), factor.shape) * factor + summand).astype(np.float32)
    constants = [b.constant(each, DType.FP32) for each in (weights, biases)]
    return b.emit(op, [value, *constants, *zeros], sums.shape, sums.dtype, **attributes)


def _transposed(call: Call, value: Value) -> Value:
    rank = len(call.shape)
    if rank == 5:
        raise UnsupportedError("it is a transposed convolution of three dimensions, which TOSA does not have")
    groups = call["groups"]
    weight = _weight(call, (0, 1, 2, 3), 2)
    inputs, outputs, *kernel = weight.shape
    # [inputs, outputs of a group, height, width] as [outputs, height, width, inputs of a group]
    grouped = call.b.reshape(weight, (groups, inputs // groups, outputs, *kernel))
    weight = call.b.reshape(call.b.transpose(grouped, (0, 2, 3, 4, 1)), (groups * outputs, *kernel, inputs // groups))
    stride, padding, dilation, more = (
        [*call[name], neutral][:2] if rank == 3 else list(call[name]) * (2 // len(call[name]))
        for name, neutral in (("stride", 1), ("padding", 0), ("dilation", 1), ("output_padding", 0))
    )
    weight = _dilated(call, weight, dilation)
    kernel = list(weight.shape[1:3])
    pads = [(-before, extra - before) for before, extra in zip(padding, more, strict=True)]
    for pair, size in zip(pads, kernel, strict=True):
        if min(pair) <= -size or max(*pair, size) > MOST:
            raise UnsupportedError(
                f"its padding is {-min(pair)} and its kernel {size}: TOSA requires a smaller padding"
            )
    attributes = {"out_pad": [each for pair in pads for each in pair], "stride": stride}
    sizes = [*call.shape[2:], 1][:2]
    return _in_groups(
        call,
        value,
        weight,
        lambda part, each, bias, size: convolution_sums(
            call, "TRANSPOSE_CONV2D", part, each, bias, (value.shape[0], *sizes, size), attributes
        ),
    )


def _dilated(call: Call, weight: Value, dilation: Sequence[int]) -> Value:
    """Inserts zeros between the elements of a weight, because TOSA's transposed convolution has no dilation."""
    if all(each == 1 for each in dilation):
        return weight
    if weight.constant is None:
        raise UnsupportedError("it has a dilation, and its weight is not a constant")
    outputs, height, width, inputs = weight.shape
    sizes = [(size - 1) * each + 1 for size, each in zip((height, width), dilation, strict=True)]
    spread = np.zeros((outputs, *sizes, inputs), dtype=weight.constant.dtype)
    spread[:, :: dilation[0], :: dilation[1]] = weight.constant
    return call.b.constant(spread, weight.dtype)


def _in_groups(call: Call, value: Value, weight: Value, convolve: Any) -> Value:
    """Lowers to one convolution for each group. The channels of a group are adjacent."""
    groups = call["groups"]
    bias = call.bias(weight.shape[0])
    inputs, outputs = value.shape[-1] // groups, weight.shape[0] // groups
    results = []
    for group in range(groups):
        sums = convolve(
            call.b.cut(value, value.rank - 1, group * inputs, inputs),
            call.b.cut(weight, 0, group * outputs, outputs),
            bias if groups == 1 else call.b.cut(bias, 0, group * outputs, outputs),
            outputs,
        )
        results.append(call.finished(sums, group * outputs))
    return call.b.concat(results, value.rank - 1)


def _weight(call: Call, order: Sequence[int], dims: int) -> Value:
    """The weight with permuted dimensions. The weight of a 1D convolution gets a width of 1."""
    weight = call.value("weight")
    if weight.rank - 2 < dims:
        weight = call.b.reshape(weight, (*weight.shape, 1))
    return call.b.transpose(weight, order)


def convolution_sums(
    call: Call, name: str, value: Value, weight: Value, bias: Value, shape: Sequence[int], attributes: dict[str, Any]
) -> Value:
    """The sums of a convolution. Long sums are added up from parts of the input channels."""
    zeros = [
        call.b.number(call.zero_point(operand), each.dtype, 1)
        for operand, each in (("input", value), ("weight", call.weight(weight)))
    ]
    result, accumulator = call.sums
    attributes = {**attributes, "local_bound": False, "acc_type": accumulator}
    if name == "DEPTHWISE_CONV2D":
        _check_taps(math.prod(weight.shape[:2]), MOST_READ)
        return call.b.emit(Op[name], [value, call.weight(weight), bias, *zeros], shape, result, **attributes)
    taps = math.prod(weight.shape[1:-1])
    _check_taps(taps, _MOST_STEPS)
    nothing = call.b.number(0, bias.dtype, 1)
    sums = []
    for part in spans(weight.shape[-1], 4 * (_MOST_STEPS // taps)):
        value_part, weight_part = (call.b.cut(each, each.rank - 1, *part) for each in (value, weight))
        operands = [value_part, call.weight(weight_part), nothing if part[0] else bias, *zeros]
        sums.append(call.b.emit(Op[name], operands, shape, result, **attributes))
    return call.b.added(sums)


def _check_taps(count: int, most: int) -> None:
    if count > most:
        raise UnsupportedError(f"its kernel has {count} elements; up to {most} are lowered")
