# SPDX-License-Identifier: BSD-3-Clause
"""Transposes as convolutions. An Ethos-U55 or U65 cannot transpose, so Vela would use many pooling operations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.int8_sums import int8_sums
from sdk.backends.arm.tosa.rescale import rescale
from sdk.backends.arm.tosa.schema import DType

if TYPE_CHECKING:
    from sdk.backends.arm.tosa.builder import Builder

_MOST_ROWS = 16
"""The most rows to transpose by a convolution, which needs one multiplication per row for each element. Images with
few channels are below this limit."""
_MOST_COLUMNS = 1 << 16  # the largest width of an Ethos-U55 and U65


def transposed_by_convolution(b: Builder, value: Value, order: Sequence[int]) -> Value | None:
    """Transposes int8 rows by a convolution: the rows become the height of an image, and a kernel of this height, with
    an identity matrix as weights, turns them into channels. None if the axes are moved differently, if there are too
    many rows, or if the specification is not the U55 subset."""
    sizes = _rotated(value.shape, order)
    if sizes is None or not b.specification.is_U55_subset or value.dtype != DType.INT8:
        return None
    rows, columns = sizes
    if rows > _MOST_ROWS or columns > _MOST_COLUMNS:
        return None
    image = b.reshape(value, (1, rows, columns, 1))
    identity = np.eye(rows, dtype=np.int8).reshape(rows, rows, 1, 1)
    moved = int8_sums(b, "CONV2D", image, identity, 0, (1, 1, columns, rows))
    return b.reshape(rescale(b, moved, 1.0, 0, DType.INT8), [value.shape[axis] for axis in order])


def _rotated(shape: Sequence[int], order: Sequence[int]) -> tuple[int, int] | None:
    """The rows and columns of the matrix that is transposed, if an order moves leading axes after all others."""
    moved = [axis for axis in order if shape[axis] != 1]
    kept = sorted(moved)
    start = kept.index(moved[0])
    if moved != kept[start:] + kept[:start]:
        return None
    return math.prod(shape[axis] for axis in kept[:start]), math.prod(shape[axis] for axis in kept[start:])
