# SPDX-License-Identifier: BSD-3-Clause
"""Hadamard matrices of the operator `fast_hadamard_transform`."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

_FIRST_ROWS = ("+------", "++----+", "+-+--+-", "+--++--")
_BLOCKS = ((0, 1, 2, 3), (1, 0, 3, 2), (2, 3, 0, 1), (3, 2, 1, 0))
_SIGNS = ("++++", "-+-+", "-++-", "--++")


def _signs(text: str) -> Tensor:
    return torch.tensor([1.0 if sign == "+" else -1.0 for sign in text], dtype=torch.float64)


@cache
def _williamson() -> Tensor:
    """The matrix of 28 rows: four symmetric circulant matrices of 7 rows in Williamson's array."""
    parts = [torch.stack([torch.roll(_signs(first), shift) for shift in range(7)]) for first in _FIRST_ROWS]
    rows = []
    for blocks, signs in zip(_BLOCKS, _SIGNS, strict=True):
        rows.append(torch.cat([sign * parts[block] for block, sign in zip(blocks, _signs(signs), strict=True)], 1))
    return torch.cat(rows)


def power_of_two_part(size: int) -> int:
    """The factor 2^k of a row of 2^k or 28 * 2^k elements; 0 for another number."""
    rest = size // 28 if size % 28 == 0 else size
    return rest if rest > 0 and rest & (rest - 1) == 0 else 0


def transform(rows: Tensor) -> Tensor:
    """Multiplies each row by the matrix and divides it by the square root of 2^k, the power of two in its length."""
    size = rows.shape[-1]
    n = power_of_two_part(size)
    x = rows.reshape(-1, size // n, n)
    half = 1
    while half < n:
        x = x.reshape(-1, n // (2 * half), 2, half)
        x = torch.stack((x[:, :, 0] + x[:, :, 1], x[:, :, 0] - x[:, :, 1]), 2)
        half *= 2
    x = x.reshape(-1, size // n, n) / n**0.5
    if n != size:
        x = torch.einsum("ij,bjn->bin", _williamson().to(x.dtype), x)
    return x.reshape(rows.shape)
