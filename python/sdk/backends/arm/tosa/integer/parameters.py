# SPDX-License-Identifier: BSD-3-Clause
"""The quantisation parameters in the quantize and dequantize nodes that PT2E writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.schema import DType
from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import DEQUANTIZE_CHANNELS
from sdk.backends.transforms.constants import get_constant

_TYPES = {torch.int8: DType.INT8, torch.int16: DType.INT16, torch.int32: DType.INT32}


@dataclass(frozen=True)
class Parameters:
    """The meaning of integers: the float is `(integer - zero_point) * scale`.

    Attributes:
        scales: One scale, or one for each index of the dimension `axis`, in float64.
        zero_point: The zero point of all elements.
        low, high: The range of the integers.
        dtype: Their type.
    """

    scales: np.ndarray
    zero_point: int
    low: int
    high: int
    dtype: DType
    axis: int | None = None

    @property
    def scale(self) -> float:
        """The only scale."""
        assert self.scales.size == 1
        return float(self.scales.reshape(()))

    def quantized(self, values: Any) -> np.ndarray:
        """Quantises floats with PyTorch's rounding."""
        inverse = np.float32(1.0) / np.float32(self.scale)
        rounded = np.rint(np.asarray(values, dtype=np.float32) * inverse) + self.zero_point
        return np.clip(rounded, self.low, self.high)


def parameters_of(node: Node, program: ExportedProgram | None = None) -> Parameters:
    """The parameters of a quantize or dequantize node. The program has the scales if there is one for each channel.

    Raises UnsupportedError for integers that TOSA does not have.
    """
    if name_of(node) == DEQUANTIZE_CHANNELS:
        _, scale_node, zero_node, axis, low, high, kind = node.args[:7]
        assert program is not None
        scales, zeros = get_constant(program, scale_node), get_constant(program, zero_node)
        if scales is None or (zero_node is not None and zeros is None):
            raise UnsupportedError("the scales of its weight are not constants")
        if zeros is not None and bool(zeros.any()):
            raise UnsupportedError("its weight has zero points")
        return Parameters(_array(scales), 0, int(low), int(high), _type(kind), int(axis))
    _, scale, zero_point, low, high, kind = node.args[:6]
    return Parameters(np.array(scale, dtype=np.float64), int(zero_point), int(low), int(high), _type(kind))


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy().astype(np.float64)


def _type(kind: Any) -> DType:
    if kind not in _TYPES:
        raise UnsupportedError(f"it is quantised to {str(kind).removeprefix('torch.')}; int8 and int16 are lowered")
    return _TYPES[kind]
