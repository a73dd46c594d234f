# SPDX-License-Identifier: BSD-3-Clause
"""Shapes and values of the calls.

The kernels' vectors have 4 (NEON), 8 (AVX2) or 16 (AVX-512) float32 lanes, and at most 64 int8 lanes; loops are
unrolled up to four times. `AROUND_VECTORS` has each of these sizes, one less and one more. `LARGE` is above every grain
of kernels/optimized, so it is shared among threads, and odd, so the last part differs from the others.
"""

from __future__ import annotations

import torch
from torch import Tensor

AROUND_VECTORS = (1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65)
LARGE = 70001

SHAPES: tuple[tuple[int, ...], ...] = (
    (),
    (0,),
    (1,),
    (7,),
    (9,),
    (17,),
    (65,),
    (3, 33),
    (2, 3, 5),
    (2, 3, 4, 5, 6),
    (LARGE,),
)


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape).to(dtype)


def uniform(low: float, high: float, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.empty(shape).uniform_(low, high).to(dtype)


def integers(low: int, high: int, *shape: int, dtype: torch.dtype = torch.int64) -> Tensor:
    """Integers from `low` to `high` - 1."""
    return torch.randint(low, high, shape).to(dtype)


def truths(*shape: int) -> Tensor:
    return torch.rand(shape) < 0.5


def image(*shape: int) -> Tensor:
    """Normal values in channels-last order."""
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return torch.randn(shape).to(memory_format=formats[len(shape)])
