# SPDX-License-Identifier: BSD-3-Clause
"""Random choices that are recorded, so that the description of a step contains them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from torch import Tensor

T = TypeVar("T")

BATCH = 5
"""Rows of the example inputs: the first dimension, which may be dynamic from LEAST to MOST."""
LEAST, MOST = 2, 9


class Draw:
    """Choices of one step.

    Attributes:
        choices: What was chosen, in order.
    """

    def __init__(self, generator: random.Random) -> None:
        self.generator = generator
        self.choices: list[object] = []

    def of(self, values: Sequence[T]) -> T:
        return self._noted(self.generator.choice(values))

    def number(self, least: int, most: int) -> int:
        return self._noted(self.generator.randint(least, most))

    def dim(self, x: Tensor) -> int:
        """A dimension of `x`, counted from the start or from the end."""
        return self.number(-x.dim(), x.dim() - 1)

    def order(self, count: int) -> list[int]:
        """A permutation of the numbers below `count`."""
        return self._noted(self.generator.sample(range(count), count))

    def chance(self, probability: float) -> bool:
        return self._noted(self.generator.random() < probability)

    def _noted(self, value: T) -> T:
        self.choices.append(value)
        return value
