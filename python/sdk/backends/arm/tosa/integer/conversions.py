# SPDX-License-Identifier: BSD-3-Clause
"""Quantize and dequantize nodes outside of a quantised unit: they are lowered with float arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from torch.fx import Node

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.integer.parameters import Parameters, parameters_of
from sdk.backends.arm.tosa.lowering.call import Placed
from sdk.backends.arm.tosa.lowering.registry import Tried
from sdk.backends.arm.tosa.schema import DType
from sdk.backends.arm.tosa.types import FLOATS, numpy_type, to_computed

if TYPE_CHECKING:
    from sdk.backends.arm.tosa.lower import Partition


class Quantize(Tried):
    """Lowers a quantize node with one scale for the whole tensor."""

    def lower(self, node: Node, partition: Partition) -> None:
        source = partition.resolve(node.args[0])
        if source.value.dtype not in FLOATS:
            raise UnsupportedError("it quantises a value that is not a float")
        integers = _quantized(partition.builder, source.value, parameters_of(node, partition.program))
        partition.results[node] = Placed(integers, source.order)


class Dequantize(Tried):
    """Lowers a dequantize node; the floats keep the layout of the integers."""

    def lower(self, node: Node, partition: Partition) -> None:
        given, source = parameters_of(node, partition.program), partition.resolve(node.args[0])
        floats = _dequantized(partition.builder, source, given, to_computed(node.meta["val"].dtype))
        partition.results[node] = Placed(floats, source.order)


def _quantized(builder: Builder, value: Any, out: Parameters) -> Any:
    """Quantises floats with the same sequence of operators as PyTorch."""
    inverse = float(np.float32(1.0) / np.float32(out.scale))
    shifted = builder.add(builder.round(builder.mul(value, inverse)), float(out.zero_point))
    return builder.convert(builder.clamp(shifted, out.low, out.high), out.dtype)


def _dequantized(builder: Builder, source: Placed, given: Parameters, dtype: DType) -> Value:
    floats = builder.cast(source.value, dtype)
    if given.zero_point:
        floats = builder.sub(floats, float(given.zero_point))
    if given.axis is None:
        return builder.mul(floats, given.scale)
    shape = [given.scales.size if dim == given.axis else 1 for dim in source.order]
    return builder.mul(floats, builder.constant(given.scales.astype(numpy_type(dtype)).reshape(shape), dtype))
