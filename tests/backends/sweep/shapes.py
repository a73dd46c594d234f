# SPDX-License-Identifier: BSD-3-Clause
"""The shapes of sweeps."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from backends.sweep.constants import BLOCKS, GRAINS, VECTORS

Make = Callable[..., Tensor]
"""A function from sizes to a tensor."""

LEADING = ((), (3,), (2, 3), (2, 1, 3), (1, 2, 3, 2))
"""The leading sizes of shapes with 1 to 5 dimensions."""
SPECIAL = ((), (0,), (1,), (0, 3), (3, 0), (2, 0, 5), (1, 1, 1, 1), (1, 1, 1, 1, 1))
"""No dimension, no element, one element."""


def sized(size: int) -> list[tuple[int, ...]]:
    """Shapes of 1 to 5 dimensions whose last has `size` elements."""
    return [(*leading, size) for leading in LEADING]


def element_shapes() -> list[tuple[int, ...]]:
    """Returns shapes with sizes around those of vectors and blocks, in each number of dimensions, and around the grain
    size."""
    small = [shape for size in VECTORS[::2] for shape in sized(size)]
    return [
        *SPECIAL,
        *small,
        *((size,) for size in (*VECTORS[1::2], *BLOCKS)),
        *((3, size) for size in BLOCKS),
        *((size,) for size in GRAINS),
    ]


def last(tensor: Tensor) -> Tensor:
    """The tensor in channels-last order."""
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return tensor.to(memory_format=formats[tensor.dim()])


def image_shapes() -> list[tuple[int, ...]]:
    """Images and volumes with numbers of channels around the sizes of vectors, and with one channel or pixel."""
    flat = [(2, channels, 3, 5) for channels in (1, *VECTORS[:9])]
    return [
        *flat,
        (1, 5, 1, 1),
        (2, 3, 1, 7),
        (0, 3, 5, 7),
        (2, 0, 5, 7),
        (1, 16, 33, 35),
        (2, 5, 2, 3, 3),
        (1, 17, 2, 1, 5),
    ]
