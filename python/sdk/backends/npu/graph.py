# SPDX-License-Identifier: BSD-3-Clause
"""The quantised graph of a partition: calls of ATen operators on values, some of which are integers with scales."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(frozen=True)
class Quantization:
    """The numbers that integers represent: `(integer - zero_point) * scale`.

    Attributes:
        scales: One scale, or one for each index of `axis`.
        zero_points: One for each scale.
        low: The smallest integer that the quantiser uses.
        high: The largest integer that the quantiser uses.
        axis: The dimension with several scales; None for one scale.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    low: int
    high: int
    axis: int | None = None

    @property
    def scale(self) -> float:
        """The only scale."""
        (scale,) = self.scales
        return scale

    @property
    def zero_point(self) -> int:
        """The only zero point."""
        (zero_point,) = self.zero_points
        return zero_point


@dataclass
class Value:
    """A tensor of the graph.

    Attributes:
        dtype: The dtype in which its elements are stored.
        shape: Its sizes, which are known.
        quantization: The numbers that its integers represent; None if its elements are not quantised.
        data: Its elements if it is a constant.
    """

    dtype: torch.dtype
    shape: tuple[int, ...]
    quantization: Quantization | None = None
    data: torch.Tensor | None = None


@dataclass(frozen=True)
class Ref:
    """An argument that is a value of the graph, by its position there."""

    value: int


@dataclass
class Call:
    """A call of an operator.

    Attributes:
        name: The operator's name in ATen, such as `aten.add.Tensor`, or one of `QUANTIZE`, `DEQUANTIZE`, `ASSUME`.
        args: The arguments in the order of the operator's schema: `Ref`, None, a bool, an int, a float, a string, a
            dtype, or a list of these.
        results: The positions of its results.
        low: The lower limit of the result from an activation function that was fused into the call; None without one.
        high: The upper limit.
    """

    name: str
    args: list[Any]
    results: list[int]
    low: float | None = None
    high: float | None = None

    def operands(self) -> Iterator[int]:
        """The positions of the values among the arguments, in order."""
        return _refs(self.args)


QUANTIZE = "quantize"
"""The name of a call that quantises its float operand."""
DEQUANTIZE = "dequantize"
"""The name of a call that dequantises the integers of its operand."""
ASSUME = "assume"
"""The name of a call whose result has the integers of its operand, and another quantisation."""


@dataclass
class Graph:
    """Calls in the order in which they are computed.

    Attributes:
        values: All tensors; calls, inputs and outputs refer to them by position.
        calls: The calls.
        inputs: The values that the caller gives.
        outputs: The values that the caller gets, with the dtypes that the values declare.
    """

    values: list[Value] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def add(self, value: Value) -> int:
        """Appends a value and returns its position."""
        self.values.append(value)
        return len(self.values) - 1


def _refs(argument: Any) -> Iterator[int]:
    if isinstance(argument, Ref):
        yield argument.value
    elif isinstance(argument, list):
        for each in argument:
            yield from _refs(each)
