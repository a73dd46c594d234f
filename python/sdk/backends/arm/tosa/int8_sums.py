# SPDX-License-Identifier: BSD-3-Clause
"""int8 convolutions with constant weights and exact sums, by which other operators are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.schema import DType, Op

if TYPE_CHECKING:
    from sdk.backends.arm.tosa.builder import Builder


def int8_sums(b: Builder, name: str, value: Value, weights: np.ndarray, zero_point: int, shape: Sequence[int]) -> Value:
    """The int32 sums of a convolution with stride 1, without bias and padding. `weights` are int8, in TOSA's layout for
    the operator `name`."""
    operands = [
        value,
        b.constant(weights, DType.INT8),
        b.constant(np.zeros(shape[-1], np.int32), DType.INT32),
        b.number(zero_point, value.dtype, 1),
        b.number(0, DType.INT8, 1),
    ]
    windows = {"pad": [0, 0, 0, 0], "stride": [1, 1], "dilation": [1, 1]}
    return b.emit(Op[name], operands, shape, DType.INT32, **windows, local_bound=False, acc_type=DType.INT32)
