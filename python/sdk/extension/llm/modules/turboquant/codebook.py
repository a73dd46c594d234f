# SPDX-License-Identifier: BSD-3-Clause
"""The quantiser of TurboQuant. After a random rotation, the elements of a vector of length 1 are nearly normal with the
variance 1 / d, whatever the vector was; the codebook has the smallest mean squared error for that distribution."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

import torch
from torch import Tensor

_EDGE = 3.0  # standard deviations: beyond, elements are rare, and belong to the outer codes


def solve_lloyd_max(d: int, bits: int, *, max_iter: int = 200, tol: float = 1e-10) -> tuple[Tensor, Tensor]:
    """The numbers of 2^bits codes and the boundaries between them, in float32, for vectors of `d` elements. By Lloyd's
    algorithm: boundaries in the middle of two numbers, numbers in the mean of their intervals, until no number moves by
    `tol` or more, or `max_iter` times."""
    numbers, boundaries = _solved(d, bits, max_iter, tol)
    return torch.tensor(numbers), torch.tensor(boundaries)


@lru_cache(maxsize=32)
def _solved(d: int, bits: int, max_iter: int, tol: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    count, deviation = 1 << bits, d**-0.5
    numbers = [_EDGE * deviation * ((2 * i + 1) / count - 1) for i in range(count)]
    for _ in range(max_iter):
        edges = [-_EDGE * deviation, *_middles(numbers), _EDGE * deviation]
        moved = [_mean(low / deviation, high / deviation) * deviation for low, high in pairwise(edges)]
        shift = max(abs(new - old) for new, old in zip(moved, numbers, strict=True))
        numbers = moved
        if shift < tol:
            break
    return tuple(numbers), tuple(_middles(numbers))


def _middles(numbers: list[float]) -> list[float]:
    return [(low + high) / 2 for low, high in pairwise(numbers)]


def _mean(low: float, high: float) -> float:
    """The mean of a standard normal number that is between two others."""
    share = (math.erf(high / math.sqrt(2)) - math.erf(low / math.sqrt(2))) / 2
    density = (math.exp(-low * low / 2) - math.exp(-high * high / 2)) / math.sqrt(2 * math.pi)
    return density / share if share > 0 else (low + high) / 2


def generate_rotation_matrix(dim: int, seed: int = 42) -> Tensor:
    """A random orthogonal matrix [dim, dim], uniformly distributed, in float32."""
    generator = torch.Generator().manual_seed(seed)
    q, r = torch.linalg.qr(torch.randn(dim, dim, generator=generator))
    # Without this choice of signs, the distribution would depend on the QR algorithm.
    return q * torch.where(r.diagonal() < 0, -1.0, 1.0)
