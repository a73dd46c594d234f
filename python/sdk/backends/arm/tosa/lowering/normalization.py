# SPDX-License-Identifier: BSD-3-Clause
"""Normalisation over batches, layers and groups of channels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.lowering.call import Call, Placed
from sdk.backends.arm.tosa.lowering.convolution import scaled
from sdk.backends.arm.tosa.lowering.registry import lowers
from sdk.backends.arm.tosa.schema import DType

_STATISTICS = ("running_mean", "running_var", "weight", "bias")


def _wide(call: Call, node: Any) -> Value:
    """An operand in the layout of the model, as float32."""
    return call.b.cast(call.value(node), DType.FP32)


def _normalised(b: Builder, value: Value, axes: list[int], epsilon: float) -> Value:
    """(x - mean) / sqrt(variance + epsilon), over axes."""
    less = b.sub(value, b.mean(value, axes))
    variance = b.mean(b.mul(less, less), axes)
    return b.mul(less, b.unary("RSQRT", b.add(variance, epsilon)))


def _affine(call: Call, value: Value, weight: Any, bias: Any, shape: tuple[int, ...]) -> Value:
    """`value * weight + bias`, with the weight and the bias in the given shape."""
    if weight is not None:
        value = call.b.mul(value, call.b.reshape(_wide(call, weight), shape))
    return value if bias is None else call.b.add(value, call.b.reshape(_wide(call, bias), shape))


@lowers("aten._native_batch_norm_legit_no_training.default")
def batch_norm(call: Call) -> list[Placed]:
    source = call.placed("input")
    axis = source.axis(1)
    shape = tuple(size if each == axis else 1 for each, size in enumerate(source.value.shape))
    b = call.b
    value = b.cast(source.value, DType.FP32)
    known = {name: call.constant(name) for name in _STATISTICS if call[name] is not None}
    if any(array is None for array in known.values()):
        mean, variance = (b.reshape(_wide(call, name), shape) for name in ("running_mean", "running_var"))
        value = b.mul(b.sub(value, mean), b.unary("RSQRT", b.add(variance, call["eps"])))
        return [Placed(_affine(call, value, call["weight"], call["bias"], shape), source.order)]
    # Constants are one factor and one summand, computed in float64.
    exact = {name: array.astype(np.float64) for name, array in known.items()}
    factor = exact.get("weight", 1) / np.sqrt(exact["running_var"] + call["eps"])
    summand = exact.get("bias", 0) - exact["running_mean"] * factor
    alone = len(call["input"].users) == 1 and axis == source.value.rank - 1
    folded = scaled(b, source.value, factor, summand) if alone else None
    if folded is not None:
        return [Placed(folded, source.order)]
    scale, offset = (b.constant(each.reshape(shape).astype(np.float32), DType.FP32) for each in (factor, summand))
    return [Placed(b.add(b.mul(value, scale), offset), source.order)]


@lowers("aten.native_layer_norm.default")
def layer_norm(call: Call) -> list[Placed]:
    source = call.placed("input")
    rank, count = len(source.order), len(call["normalized_shape"])
    dims = list(range(rank - count, rank))
    wide = call.b.cast(source.value, DType.FP32)
    value = _normalised(call.b, wide, [source.axis(dim) for dim in dims], call["eps"])
    for operand, compute in ((call["weight"], call.b.mul), (call["bias"], call.b.add)):
        if operand is not None:
            factor = call.b.with_rank(_wide(call, operand), rank)
            value = compute(value, call.b.transpose(factor, source.order))
    return [Placed(value, source.order)]


@lowers("aten.native_group_norm.default")
def group_norm(call: Call) -> list[Placed]:
    sizes, groups = call.shape_of("input"), call["group"]
    b = call.b
    split = b.reshape(_wide(call, "input"), (sizes[0], groups, math.prod(sizes[1:]) // groups))
    value = b.reshape(_normalised(b, split, [2], call["eps"]), sizes)
    shape = (1, sizes[1], *(1 for _ in sizes[2:]))
    return [Placed.plain(_affine(call, value, call["weight"], call["bias"], shape))]
