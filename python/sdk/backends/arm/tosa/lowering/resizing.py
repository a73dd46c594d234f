# SPDX-License-Identifier: BSD-3-Clause
"""Resizes images with TOSA's RESIZE.

The result at o is read at (o * d + offset) / n of the input. PyTorch reads at (o + 1/2) * inputs / outputs - 1/2, with
`align_corners` at o * (inputs - 1) / (outputs - 1), and the nearest at floor(o * inputs / outputs).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.lowering.call import Call, Placed
from sdk.backends.arm.tosa.lowering.registry import lowers
from sdk.backends.arm.tosa.lowering.windows import channels_last
from sdk.backends.arm.tosa.schema import DType, Op, ResizeMode

_MOST_SCALE = 2048  # of n
_MOST_RATIO = 16
_SUMS = {DType.INT8: DType.INT32, DType.INT16: DType.INT48}


@dataclass(frozen=True)
class _Axis:
    """n, d and the offset, for a number of inputs and outputs."""

    n: int
    d: int
    offset: int
    inputs: int
    outputs: int

    @property
    def border(self) -> int:
        return (self.outputs - 1) * self.d - (self.inputs - 1) * self.n + self.offset


def _axis(inputs: int, outputs: int, n: int, d: int, offset: int) -> _Axis:
    divisor = math.gcd(n, d, offset)
    axis = _Axis(n // divisor, d // divisor, offset // divisor, inputs, outputs)
    within = axis.n <= _MOST_SCALE and axis.d < _MOST_RATIO * axis.n and -axis.n <= axis.offset < _MOST_RATIO * axis.n
    if not within or not -_MOST_RATIO * axis.n <= axis.border < axis.n:
        raise UnsupportedError(f"it resizes {inputs} to {outputs}, which is beyond the limits of TOSA's RESIZE")
    return axis


def _nearest(inputs: int, outputs: int) -> _Axis:
    """RESIZE rounds halves up, so subtracting half an input element gives the floor."""
    exact = np.arange(outputs) * inputs // outputs
    pytorch = np.floor(np.arange(outputs, dtype=np.float32) * np.float32(inputs / outputs)).astype(np.int64)
    if not np.array_equal(exact, np.minimum(pytorch, inputs - 1)):
        raise UnsupportedError(f"it resizes {inputs} to {outputs}, where PyTorch's float32 positions are not exact")
    return _axis(inputs, outputs, 2 * outputs, 2 * inputs, -outputs)


def _linear(inputs: int, outputs: int, align_corners: bool) -> _Axis:
    if not align_corners:
        return _axis(inputs, outputs, 2 * outputs, 2 * inputs, inputs - outputs)
    if outputs == 1:
        raise UnsupportedError("it aligns the corners of a result of size 1")
    return _axis(inputs, outputs, outputs - 1, inputs - 1, 0)


def _resize(b: Builder, value: Value, axes: list[_Axis], mode: ResizeMode) -> Value:
    """Resizes [batch, height, width, channels]."""
    scale = b.shape([number for axis in axes for number in (axis.n, axis.d)])
    offset, border = b.shape([axis.offset for axis in axes]), b.shape([axis.border for axis in axes])
    shape = (value.shape[0], *(axis.outputs for axis in axes), value.shape[3])
    dtype = _SUMS.get(value.dtype, value.dtype) if mode == ResizeMode.BILINEAR else value.dtype
    return b.emit(Op["RESIZE"], [value, scale, offset, border], shape, dtype, mode=mode)


def resized(call: Call, mode: ResizeMode, align_corners: bool) -> tuple[Placed, int]:
    """The result, and the factor by which it is too large: RESIZE multiplies integers by integer weights, which turns
    int8 into int32 and int16 into int48."""
    order = channels_last(4)
    value = call.value("input", order)
    sizes = list(zip(value.shape[1:3], call.shape[2:], strict=True))
    factors = call["scale_factors"]
    if factors is not None and any(
        inputs * factor != outputs for (inputs, outputs), factor in zip(sizes, factors, strict=True)
    ):
        raise UnsupportedError("its factor gives no integer size, and PyTorch computes positions with the factor")
    # An input of the size 1 is repeated: RESIZE cannot read beyond it.
    value = call.b.tile(value, [1, *(outputs if inputs == 1 else 1 for inputs, outputs in sizes), 1])
    axes = []
    for inputs, outputs in zip(value.shape[1:3], call.shape[2:], strict=True):
        if inputs == outputs:
            axes.append(_Axis(1, 1, 0, inputs, outputs))
        elif mode == ResizeMode.NEAREST:
            axes.append(_nearest(inputs, outputs))
        else:
            axes.append(_linear(inputs, outputs, align_corners))
    given = value.dtype
    if any(axis.inputs != axis.outputs for axis in axes):
        value = _resize(call.b, value, axes, mode)
    factor = 1 if value.dtype == given else math.prod(axis.n for axis in axes)
    return Placed(value, order), factor


@lowers("aten.upsample_nearest2d.vec")
def upsample_nearest2d(call: Call) -> Placed:
    return resized(call, ResizeMode.NEAREST, False)[0]


@lowers("aten.upsample_bilinear2d.vec")
def upsample_bilinear2d(call: Call) -> Placed:
    return resized(call, ResizeMode.BILINEAR, call["align_corners"])[0]
