# SPDX-License-Identifier: BSD-3-Clause
"""Pooling, and interpolation of images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.lowering.call import Call, Placed
from sdk.backends.arm.tosa.lowering.registry import lowers
from sdk.backends.arm.tosa.lowering.shapes import strided
from sdk.backends.arm.tosa.lowering.windows import MOST, Window, channels_last, fitted, windows
from sdk.backends.arm.tosa.parts import MOST_READ
from sdk.backends.arm.tosa.schema import DType, NanMode, Op
from sdk.backends.arm.tosa.types import FLOATS, limits_of

_NO_PADS = [(0, 0)] * 2
_MOST_MEANS = 256  # results of an adaptive pool with windows of different sizes


def _image(call: Call, name: str, rank: int, dtype: DType | None = None) -> tuple[Value, tuple[int, ...]]:
    """Returns an operand as [batch, height, width, channels], and the layout of the result. A missing batch or height
    becomes a dimension of size 1."""
    dims = len(call.shape_of(name))
    batched = dims == rank + 2
    order = channels_last(dims) if batched else (*range(1, dims), 0)
    value = call.value(name, order)
    height, width = ((1,) if rank == 1 else ()), value.shape[int(batched) : -1]
    return call.b.reshape(value, (value.shape[0] if batched else 1, *height, *width, value.shape[-1])), order


def _result(call: Call, value: Value, order: tuple[int, ...], shape: Sequence[int]) -> Placed:
    return Placed(call.b.reshape(value, [shape[dim] for dim in order]), order)


def _attributes(found: Sequence[Window], pads: Sequence[tuple[int, int]]) -> dict[str, Any]:
    for window, pair in zip(found, pads, strict=True):
        if max(pair) >= window.kernel:
            raise UnsupportedError(
                f"its padding is {max(pair)} and its kernel {window.kernel}: TOSA requires a smaller padding"
            )
    return {
        "kernel": [window.kernel for window in found],
        "stride": [window.stride for window in found],
        "pad": [each for pair in pads for each in pair],
    }


def _two(found: list[Window], results: Sequence[int]) -> tuple[list[Window], list[int]]:
    """Returns windows and results for two dimensions; for one, adds a height of 1."""
    return ([Window(1, 1, 0), *found], [1, *results]) if len(found) == 1 else (found, list(results))


def average(call: Call, value: Value, found: Sequence[Window], pads: Sequence[tuple[int, int]]) -> Value:
    """Lowers an average pool over [batch, height, width, channels]. The means do not count the padding."""
    zero = call.b.number(call.zero_point("self"), value.dtype, 1)
    accumulator = DType.FP32 if value.dtype in FLOATS else DType.INT32
    if found[0].kernel * found[1].kernel > MOST_READ:
        if value.dtype not in FLOATS:
            raise UnsupportedError(
                f"its windows have {found[0].kernel * found[1].kernel} integers; up to {MOST_READ} are lowered"
            )
        value, zero = call.b.cast(value, DType.FP32), call.b.number(0, DType.FP32, 1)
    return _pooled(call.b, "AVG_POOL2D", [value, zero, zero], found, pads, acc_type=accumulator)


def _pooled(
    b: Builder, name: str, operands: list[Value], found: Sequence[Window], pads: Sequence[tuple[int, int]], **more: Any
) -> Value:
    """Lowers a pool. Large windows are pooled along the height first, and the result along the width. The mean of the
    means is the mean, because all windows in a row of the first pool have the same number of elements."""
    if found[0].kernel * found[1].kernel > MOST_READ:
        single = Window(1, 1, 0)
        columns = _pooled(b, name, operands, [found[0], single], [pads[0], (0, 0)], **more)
        return _pooled(b, name, [columns, *operands[1:]], [single, found[1]], [(0, 0), pads[1]], **more)
    (value, *_), attributes = operands, _attributes(found, pads)
    sizes = [
        (size + sum(pair) - window.kernel) // window.stride + 1
        for size, pair, window in zip(value.shape[1:3], pads, found, strict=True)
    ]
    shape = (value.shape[0], *sizes, value.shape[3])
    return b.emit(Op[name], operands, shape, value.dtype, **attributes, **more)


def _average_pool(call: Call, rank: int) -> Placed:
    value, order = _image(call, "self", rank)
    found = windows(call["kernel_size"], call["stride"], call["padding"], [1], rank)
    found, results = _two(found, call.shape[-rank:])
    value, pads = fitted(call.b, value, found, results)
    divisor = call.get("divisor_override")
    if call["count_include_pad"] or divisor is not None:
        for window, pair in zip(found, pads, strict=True):
            if pair[1] > window.before and call["count_include_pad"] and divisor is None:
                raise UnsupportedError("with ceil_mode it divides windows at the end by another number")
        value = call.b.pad(value, [(0, 0), *pads, (0, 0)], call.zero_point("self"))
        pads = [(0, 0)] * len(pads)
    result = average(call, value, found, pads)
    if divisor is not None:
        result = call.b.mul(result, found[0].kernel * found[1].kernel / divisor)
    return _result(call, result, order, call.shape)


@lowers("aten.avg_pool2d.default")
def avg_pool2d(call: Call) -> Placed:
    return _average_pool(call, 2)


@lowers("aten._adaptive_avg_pool2d.default", "aten.adaptive_avg_pool1d.default")
def adaptive_avg_pool(call: Call) -> Placed:
    """Lowers to one average pool where the output sizes divide the input sizes, else to one mean for each result."""
    rank = len(call["output_size"])
    value, order = _image(call, "self", rank)
    results = [1, *call.shape[-1:]] if rank == 1 else list(call.shape[-2:])
    sizes = value.shape[1:3]
    if all(size % count == 0 for size, count in zip(sizes, results, strict=True)):
        found = [Window(size // count, size // count, 0) for size, count in zip(sizes, results, strict=True)]
        if max(window.kernel for window in found) <= MOST:
            return _result(call, average(call, value, found, _NO_PADS), order, call.shape)
    if results[0] * results[1] > _MOST_MEANS:
        raise UnsupportedError(f"its windows have several sizes, and it has more than {_MOST_MEANS} of them")
    # The window of a result i is [floor(i * size / count), ceil((i + 1) * size / count)), here its start and its size.
    parts = [
        [(i * size // count, -((i + 1) * size // -count) - i * size // count) for i in range(count)]
        for size, count in zip(sizes, results, strict=True)
    ]
    if max(size for windows_of in parts for _, size in windows_of) > MOST:
        raise UnsupportedError(
            f"its windows have more than {MOST} elements along a dimension, the most of TOSA's level 8K"
        )
    return _result(call, _means(call, value, parts), order, call.shape)


def _means(call: Call, value: Value, parts: Sequence[Sequence[tuple[int, int]]]) -> Value:
    """The means over windows of several sizes. Integers are rounded once: each window is a pool."""
    b = call.b
    if value.dtype in FLOATS:
        for axis, windows_of in enumerate(parts, start=1):
            value = b.concat([b.mean(b.cut(value, axis, *window), [axis]) for window in windows_of], axis)
        return value
    rows = []
    for top, height in parts[0]:
        band = b.cut(value, 1, top, height)
        rows.append(
            b.concat(
                [
                    average(
                        call,
                        b.cut(band, 2, left, width),
                        [Window(height, height, 0), Window(width, width, 0)],
                        _NO_PADS,
                    )
                    for left, width in parts[1]
                ],
                2,
            )
        )
    return b.concat(rows, 1)


@lowers("aten.max_pool2d_with_indices.default", "aten.max_pool2d.default")
def max_pool2d(call: Call) -> list[Placed] | Placed:
    value, order = _image(call, "self", 2)
    several = isinstance(call.node.meta["val"], (tuple, list))
    shape = tuple((call.node.meta["val"][0] if several else call.node.meta["val"]).shape)
    found = windows(call["kernel_size"], call["stride"], call["padding"], call["dilation"], 2)
    value, pads = fitted(call.b, value, found, shape[-2:])
    if any(window.dilation != 1 for window in found):
        pooled = call.b.pad(value, [(0, 0), *pads, (0, 0)], limits_of(value.dtype)[0])
        for axis, window in enumerate(found, start=1):
            pooled = _dilated_maximum(call.b, pooled, axis, window)
    else:
        pooled = _pooled(call.b, "MAX_POOL2D", [value], found, pads, nan_mode=NanMode.PROPAGATE)
    result = _result(call, pooled, order, shape)
    return [result] if several else result


def _dilated_maximum(b: Builder, value: Value, axis: int, window: Window) -> Value:
    """The maxima over the windows along one axis, which end where the axis ends. TOSA's pool has no dilation: the axis
    is split into [rows, dilation], where the elements of a window are adjacent rows. Such a pool has a result for each
    first element; every `stride`-th is taken."""
    shape, step = value.shape, window.dilation
    results = (shape[axis] - (window.kernel - 1) * step - 1) // window.stride + 1
    rows = -(-shape[axis] // step)
    missing = rows * step - shape[axis]
    value = b.pad(value, [(0, missing if each == axis else 0) for each in range(value.rank)], limits_of(value.dtype)[0])
    # The axes before become batches. The second part of the axis and the axes after it become the width.
    batches, width = math.prod(shape[:axis]), step * math.prod(shape[axis + 1 : -1])
    value = b.reshape(value, (batches, rows, width, shape[-1]))
    found = [Window(window.kernel, 1 if step > 1 else window.stride, 0), Window(1, 1, 0)]
    value = _pooled(b, "MAX_POOL2D", [value], found, _NO_PADS, nan_mode=NanMode.PROPAGATE)
    value = b.reshape(value, (*shape[:axis], value.shape[1] * step, *shape[axis + 1 :]))
    return strided(b, value, axis, 0, results, window.stride) if step > 1 else value
