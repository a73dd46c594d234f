# SPDX-License-Identifier: BSD-3-Clause
"""Sums and means over neighbouring axes as a convolution or a pool: an Ethos-U55 and U65 reduce the last axis only, and
REDUCE_SUM over others becomes transposes, which these NPUs compute by many pools."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.int8_sums import int8_sums
from sdk.backends.arm.tosa.integer.call import IntegerCall
from sdk.backends.arm.tosa.schema import DType, Op

_MOST_KERNEL = 64  # the largest height and width of a kernel on an Ethos-U55 and U65
_MOST_BATCHES = 8  # each batch is a command


def summed_by_convolution(call: IntegerCall, value: Value, axes: Sequence[int], zero_point: int) -> Value | None:
    """The exact sums of `value - zero_point` in int32, by a depthwise convolution with weights of 1. The axes stay with
    the size 1. None if the NPU has a faster operator, or does not support this convolution.

    int16 is excluded: its sums have 48 bits, whose rescale factors have 15 bits instead of 31.
    """
    images = _images(call, value, axes)
    if images is None:
        return None
    b, (batches, height, width, channels) = call.b, images.shape
    ones = np.ones((height, width, channels, 1), np.int8)
    sums = int8_sums(b, "DEPTHWISE_CONV2D", images, ones, zero_point, (batches, 1, 1, channels))
    return _without(call, sums, value, axes)


def averaged_by_pool(call: IntegerCall, value: Value, axes: Sequence[int], zero_point: int) -> Value | None:
    """The means, with the scale and the zero point of the value. A pool takes half of a convolution's time. None as for
    `summed_by_convolution`."""
    images = _images(call, value, axes)
    if images is None:
        return None
    zero, (batches, *kernel, channels) = call.b.number(zero_point, value.dtype, 1), images.shape
    windows = {"kernel": kernel, "stride": [1, 1], "pad": [0, 0, 0, 0], "acc_type": DType.INT32}
    means = call.b.emit(Op["AVG_POOL2D"], [images, zero, zero], (batches, 1, 1, channels), value.dtype, **windows)
    return _without(call, means, value, axes)


def _images(call: IntegerCall, value: Value, axes: Sequence[int]) -> Value | None:
    """The value as images, whose pixels are what is summed."""
    first, last = min(axes), max(axes)
    batches, channels = math.prod(value.shape[:first]), math.prod(value.shape[last + 1 :])
    sizes = [value.shape[axis] for axis in sorted(axes)]
    count = math.prod(sizes)
    kernel = (sizes[0], sizes[1]) if len(sizes) == 2 and max(sizes) <= _MOST_KERNEL else _kernel(count)
    are_neighbours = sorted(axes) == list(range(first, last + 1))
    if not (call.b.specification.is_U55_subset and are_neighbours and value.dtype == DType.INT8):
        return None
    if channels == 1 or count == 1 or batches > _MOST_BATCHES or kernel is None:
        return None
    return call.b.reshape(value, (batches, *kernel, channels))


def _without(call: IntegerCall, found: Value, value: Value, axes: Sequence[int]) -> Value:
    return call.b.reshape(found, [1 if axis in axes else size for axis, size in enumerate(value.shape)])


def _kernel(count: int) -> tuple[int, int] | None:
    """The height and width that have `count` elements and are closest to a square."""
    heights = (height for height in range(math.isqrt(count), 0, -1) if count % height == 0)
    return next(((height, count // height) for height in heights if count // height <= _MOST_KERNEL), None)
