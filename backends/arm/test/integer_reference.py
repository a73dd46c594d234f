# SPDX-License-Identifier: BSD-3-Clause
"""Computes TOSA files of integers with NumPy, according to the pseudocode of the TOSA specification 1.0. It is a second
reference in addition to the reference model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sdk.backends.arm.tosa.schema import DType, Op, ResizeMode, TosaFile, TosaOperator

_TYPES = {
    DType.BOOL: "?",
    DType.INT8: "<i1",
    DType.INT16: "<i2",
    DType.INT32: "<i4",
    DType.INT48: "<i8",
    DType.FP32: "<f4",
}
_LIMITS = {DType.INT8: (-(2**7), 2**7 - 1), DType.INT16: (-(2**15), 2**15 - 1), DType.INT32: (-(2**31), 2**31 - 1)}


def compute(file: TosaFile, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs of a file, all in int64."""
    (block,) = file.regions[0].blocks
    tensors = {tensor.name: tensor for tensor in block.tensors}
    values: dict[str, Any] = {shape.name: np.frombuffer(shape.data or b"", "<i8").tolist() for shape in block.shapes}
    for tensor in block.tensors:
        if tensor.data is not None:
            values[tensor.name] = _constant(tensor.data, DType(tensor.type), tensor.shape)
    values.update(zip(block.inputs, (array.astype(np.int64) for array in inputs), strict=True))
    for operator in block.operators:
        name = Op(operator.op).name
        if name in ("CONST", "CONST_SHAPE"):
            continue
        (returned,) = operator.outputs
        result = _OPERATORS[name](operator, [values[each] for each in operator.inputs], DType(tensors[returned].type))
        assert list(result.shape) == tensors[returned].shape, (name, result.shape, tensors[returned].shape)
        if DType(tensors[returned].type) == DType.INT32:
            assert result.min() >= -(2**31) and result.max() < 2**31, f"{name} is beyond int32"
        values[returned] = result
    return [values[name] for name in block.outputs]


def _constant(data: bytes, dtype: DType, shape: list[int]) -> np.ndarray:
    if dtype == DType.INT48:
        bytes_ = np.frombuffer(data, np.uint8).reshape(-1, 6)
        sign = np.where(bytes_[:, 5:] >= 128, 255, 0).astype(np.uint8)
        return np.concatenate([bytes_, sign, sign], 1).copy().view("<i8").reshape(shape)
    if dtype == DType.INT4:
        nibbles = np.frombuffer(data, np.uint8).reshape(-1, 1) >> np.array([0, 4], np.uint8) & 15
        numbers = nibbles.reshape(-1)[: math.prod(shape)].astype(np.int64)
        return np.where(numbers < 8, numbers, numbers - 16).reshape(shape)
    return np.frombuffer(data, _TYPES[dtype]).astype(np.int64).reshape(shape)


def apply_scale(value: np.ndarray, multiplier: Any, shift: Any) -> np.ndarray:
    """`apply_scale_32` and `apply_scale_16` without double rounding."""
    return (value * multiplier + (np.int64(1) << (np.asarray(shift, np.int64) - 1))) >> shift


def _rescale(operator: TosaOperator, operands: list[Any], dtype: DType) -> np.ndarray:
    value, multiplier, shift, zero_point, result_zero_point = operands
    if operator.attribute.scale32:
        assert (np.abs(value - zero_point) < np.int64(1) << (np.asarray(shift) - 1)).all(), "beyond RESCALE's operands"
    scaled = apply_scale(value - zero_point, multiplier, shift) + result_zero_point
    return np.clip(scaled, *_LIMITS[dtype]).reshape(value.shape)


def _windows(value: np.ndarray, attribute: Any, kernel: Sequence[int], fill: int, dilation: Sequence[int]) -> Any:
    """(position, slice of the padded image) for each element of a kernel."""
    top, bottom, left, right = attribute.pad
    padded = np.pad(value, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
    sizes = [
        (padded.shape[1 + axis] - (kernel[axis] - 1) * dilation[axis] - 1) // attribute.stride[axis] + 1
        for axis in (0, 1)
    ]
    for y, x in itertools.product(range(kernel[0]), range(kernel[1])):
        starts = (y * dilation[0], x * dilation[1])
        rows, columns = (
            slice(start, start + (size - 1) * stride + 1, stride)
            for start, size, stride in zip(starts, sizes, attribute.stride, strict=True)
        )
        yield y, x, padded[:, rows, columns]


def _conv2d(operator: TosaOperator, operands: list[Any], dtype: DType) -> np.ndarray:
    value, weight, bias, value_zero, weight_zero = operands
    attribute = operator.attribute
    total = 0
    for y, x, part in _windows(value - value_zero, attribute, weight.shape[1:3], 0, attribute.dilation):
        total = total + np.tensordot(part, (weight - weight_zero)[:, y, x], ((3,), (1,)))
    return total + bias


def _depthwise_conv2d(operator: TosaOperator, operands: list[Any], dtype: DType) -> np.ndarray:
    value, weight, bias, value_zero, weight_zero = operands
    attribute = operator.attribute
    total: Any = 0
    for y, x, part in _windows(value - value_zero, attribute, weight.shape[:2], 0, attribute.dilation):
        total = total + part[..., None] * (weight - weight_zero)[y, x]
    return total.reshape(*total.shape[:3], -1) + bias


def _transpose_conv2d(operator: TosaOperator, operands: list[Any], dtype: DType) -> np.ndarray:
    value, weight, bias, value_zero, weight_zero = operands
    top, bottom, left, right = operator.attribute.out_pad
    stride = operator.attribute.stride
    batches, height, width, _ = value.shape
    outputs, kernel_y, kernel_x, _ = weight.shape
    axes = ((height, stride[0], kernel_y), (width, stride[1], kernel_x))
    full = np.zeros((batches, *((size - 1) * step + more for size, step, more in axes), outputs), np.int64)
    for y, x in itertools.product(range(kernel_y), range(kernel_x)):
        part = np.tensordot(value - value_zero, (weight - weight_zero)[:, y, x], ((3,), (1,)))
        rows, columns = (
            slice(start, start + (size - 1) * step + 1, step)
            for start, (size, step, _) in zip((y, x), axes, strict=True)
        )
        full[:, rows, columns] += part
    more = np.pad(full, ((0, 0), (max(top, 0), max(bottom, 0)), (max(left, 0), max(right, 0)), (0, 0)))
    cut = [
        slice(max(-before, 0), size - max(-after, 0))
        for before, after, size in ((top, bottom, more.shape[1]), (left, right, more.shape[2]))
    ]
    return more[:, cut[0], cut[1]] + bias


def _avg_pool2d(operator: TosaOperator, operands: list[Any], dtype: DType) -> np.ndarray:
    value, value_zero, result_zero = operands
    kernel = operator.attribute.kernel
    total: Any = 0
    count: Any = 0
    for _, _, part in _windows(value - value_zero, operator.attribute, kernel, 0, (1, 1)):
        total = total + part
    for _, _, part in _windows(np.ones_like(value), operator.attribute, kernel, 0, (1, 1)):
        count = count + part
    bits = np.array([(int(each) - 1).bit_length() for each in count.reshape(-1)]).reshape(count.shape)
    multiplier = ((np.int64(1) << 30) + 1 << bits) // count
    return np.clip(apply_scale(total, multiplier, 30 + bits) + result_zero, *_LIMITS[dtype])


def _max_pool2d(operator: TosaOperator, operands: list[Any], dtype: DType) -> np.ndarray:
    parts = _windows(operands[0], operator.attribute, operator.attribute.kernel, _LIMITS[dtype][0], (1, 1))
    return np.max([part for _, _, part in parts], 0)


def _clamp(operator: TosaOperator, operands: list[Any], dtype: DType) -> np.ndarray:
    attribute = operator.attribute
    low, high = (int(np.frombuffer(each, _TYPES[dtype])[0]) for each in (attribute.min_val, attribute.max_val))
    return np.clip(operands[0], low, high)


def _slice(operator: TosaOperator, operands: list[Any], dtype: DType) -> np.ndarray:
    value, start, size = operands
    return value[tuple(slice(first, first + count) for first, count in zip(start, size, strict=True))]


def _matmul(operator: TosaOperator, operands: list[Any], dtype: DType) -> np.ndarray:
    first, second, first_zero, second_zero = operands
    return (first - first_zero) @ (second - second_zero)


def _gather(operator: TosaOperator, operands: list[Any], dtype: DType) -> np.ndarray:
    values, indices = operands
    return np.stack([rows[chosen] for rows, chosen in zip(values, indices, strict=True)])


def _scatter(operator: TosaOperator, operands: list[Any], dtype: DType) -> np.ndarray:
    values, indices, rows = operands
    result = values.copy()
    for batch, chosen in enumerate(indices):
        assert np.unique(chosen).size == chosen.size
        result[batch, chosen] = rows[batch]
    return result


def _table(operator: TosaOperator, operands: list[Any], dtype: DType) -> np.ndarray:
    value, table = operands
    if dtype == DType.INT8:
        return table[value + 128]
    index = (value >> 7) + 256
    return (table[index] << 7) + (table[index + 1] - table[index]) * (value & 127)


def _resize(operator: TosaOperator, operands: list[Any], dtype: DType) -> np.ndarray:
    value, scale, offset, border = operands
    axes = []
    for axis in (0, 1):
        inputs, n, d = value.shape[1 + axis], scale[2 * axis], scale[2 * axis + 1]
        outputs = ((inputs - 1) * n - offset[axis] + border[axis]) // d + 1
        position = np.arange(outputs) * d + offset[axis]
        first = position // n
        rest = position - first * n
        axes.append((np.maximum(first, 0), np.minimum(first + 1, inputs - 1), rest, n))
    (top, bottom, y, height), (left, right, x, width) = axes
    if operator.attribute.mode == ResizeMode.NEAREST:
        rows, columns = np.where(2 * y >= height, bottom, top), np.where(2 * x >= width, right, left)
        return value[:, rows][:, :, columns]
    y, x = y[:, None, None], x[:, None]
    above = value[:, top][:, :, left] * (width - x) + value[:, top][:, :, right] * x
    below = value[:, bottom][:, :, left] * (width - x) + value[:, bottom][:, :, right] * x
    return above * (height - y) + below * y


def _mul(operator: TosaOperator, operands: list[Any], dtype: DType) -> np.ndarray:
    first, second, (shift,) = operands
    product = first * second
    return product if shift == 0 else (product + (np.int64(1) << (shift - 1))) >> shift


def _clz(operator: TosaOperator, operands: list[Any], dtype: DType) -> np.ndarray:
    return np.vectorize(lambda each: 32 - int(each).bit_length() if each >= 0 else 0, otypes=[np.int64])(operands[0])


def _shift_left(operator: TosaOperator, operands: list[Any], dtype: DType) -> np.ndarray:
    return (operands[0] << operands[1]).astype(np.int32).astype(np.int64)


def _argmax(operator: TosaOperator, operands: list[Any], dtype: DType) -> np.ndarray:
    return operands[0].argmax(operator.attribute.axis)


_OPERATORS: dict[str, Any] = {
    "ABS": lambda operator, given, dtype: np.abs(given[0]),
    "ARGMAX": _argmax,
    "ARITHMETIC_RIGHT_SHIFT": lambda operator, given, dtype: given[0] >> given[1],
    "BITWISE_NOT": lambda operator, given, dtype: ~given[0],
    "CAST": lambda operator, given, dtype: given[0],  # to a wider type
    "CLZ": _clz,
    "LOGICAL_LEFT_SHIFT": _shift_left,
    "ADD": lambda operator, given, dtype: given[0] + given[1],
    "AVG_POOL2D": _avg_pool2d,
    "CLAMP": _clamp,
    "CONCAT": lambda operator, given, dtype: np.concatenate(given, operator.attribute.axis),
    "CONV2D": _conv2d,
    "DEPTHWISE_CONV2D": _depthwise_conv2d,
    "EQUAL": lambda operator, given, dtype: given[0] == given[1],
    "GATHER": _gather,
    "GREATER": lambda operator, given, dtype: given[0] > given[1],
    "GREATER_EQUAL": lambda operator, given, dtype: given[0] >= given[1],
    "IDENTITY": lambda operator, given, dtype: given[0],
    "LOGICAL_NOT": lambda operator, given, dtype: ~np.asarray(given[0], bool),
    "LOGICAL_OR": lambda operator, given, dtype: np.logical_or(given[0], given[1]),
    "MATMUL": _matmul,
    "MAXIMUM": lambda operator, given, dtype: np.maximum(given[0], given[1]),
    "MAX_POOL2D": _max_pool2d,
    "MINIMUM": lambda operator, given, dtype: np.minimum(given[0], given[1]),
    "MUL": _mul,
    "PAD": lambda operator, given, dtype: np.pad(
        given[0], np.reshape(given[1], (-1, 2)), constant_values=int(given[2][0])
    ),
    "REDUCE_ANY": lambda operator, given, dtype: np.asarray(given[0], bool).any(operator.attribute.axis, keepdims=True),
    "REDUCE_MAX": lambda operator, given, dtype: given[0].max(operator.attribute.axis, keepdims=True),
    "REDUCE_MIN": lambda operator, given, dtype: given[0].min(operator.attribute.axis, keepdims=True),
    "REDUCE_SUM": lambda operator, given, dtype: given[0].sum(operator.attribute.axis, keepdims=True),
    "RESCALE": _rescale,
    "RESHAPE": lambda operator, given, dtype: given[0].reshape(given[1]),
    "REVERSE": lambda operator, given, dtype: np.flip(given[0], operator.attribute.axis),
    "RESIZE": _resize,
    "SCATTER": _scatter,
    "SELECT": lambda operator, given, dtype: np.where(given[0], given[1], given[2]),
    "SLICE": _slice,
    "SUB": lambda operator, given, dtype: given[0] - given[1],
    "TABLE": _table,
    "TILE": lambda operator, given, dtype: np.tile(given[0], given[1]),
    "TRANSPOSE": lambda operator, given, dtype: given[0].transpose(operator.attribute.perms),
    "TRANSPOSE_CONV2D": _transpose_conv2d,
}
