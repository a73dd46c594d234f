# SPDX-License-Identifier: BSD-3-Clause
"""Random arguments of the operators `cadence::*`: integers, scales and multipliers, often the extremes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import torch

Calls = Iterator[tuple[Any, ...]]

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17)
BYTES = (torch.int8, torch.uint8)
WIDE = (*BYTES, torch.int16, torch.uint16, torch.int32)
KINDS = {"asym8s": torch.int8, "asym8u": torch.uint8, "asym16s": torch.int16, "asym16u": torch.uint16,
         "asym32s": torch.int32}  # fmt: skip


def number_tensor(value: float, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    return torch.tensor([value], dtype=dtype)


class Random(random.Random):
    """Random arguments. The extremes of a dtype are as frequent as all other numbers together."""

    def integers(self, dtype: torch.dtype, *shape: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(self.getrandbits(32))
        limits = torch.iinfo(dtype)
        values = torch.randint(limits.min, limits.max + 1, shape, dtype=torch.int64, generator=generator)
        ends = torch.randint(0, 2, shape, generator=generator) * (limits.max - limits.min) + limits.min
        chosen = torch.rand(shape, generator=generator) < self.choice((0.0, 0.0, 0.5, 1.0))
        return torch.where(chosen, ends, values).to(dtype)

    def floats(self, *shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=torch.Generator().manual_seed(self.getrandbits(32)))

    def bias(self, count: int) -> torch.Tensor:
        limit = 2 ** self.randint(1, 31) - 1
        return torch.tensor([self.randint(-limit, limit) for _ in range(count)], dtype=torch.int32)

    def zero_point(self, dtype: torch.dtype) -> int:
        limits = torch.iinfo(dtype)
        return self.choice((limits.min, 0, limits.max, self.randint(limits.min, limits.max)))

    def scale(self) -> float:
        return self.choice((2.0 ** self.uniform(-10, 3), 1.0, 2.0**-12))

    def multiplier(self) -> tuple[int, int]:
        usual = self.randint(2**30, 2**31 - 1), self.randint(-14, 1)
        return self.choice((usual, usual, (-(2**31), self.randint(-8, 0)), (1, 10)))

    def pair(self, low: int, high: int) -> list[int]:
        return [self.randint(low, high) for _ in range(2)]
