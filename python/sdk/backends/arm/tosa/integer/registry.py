# SPDX-License-Identifier: BSD-3-Clause
"""The table of quantised operators: a lowering to integers for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from torch.fx import Node

from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.integer.call import IntegerCall
from sdk.backends.arm.tosa.integer.parameters import Parameters, parameters_of
from sdk.backends.arm.tosa.lowering.call import Placed
from sdk.backends.arm.tosa.lowering.registry import Function, Tried
from sdk.backends.arm.tosa.schema import DType
from sdk.backends.graph.names import name_of
from sdk.backends.operators import Operators

if TYPE_CHECKING:
    from sdk.backends.arm.tosa.lower import Partition

_RANGES = {DType.INT8: (-128, 127), DType.INT16: (-32768, 32767)}


@dataclass(frozen=True)
class IntegerLowering(Tried):
    """How the unit of a quantised operator is lowered (`sdk.backends.arm.tosa.integer.units`).

    Attributes:
        function: Gets an `IntegerCall` and returns the integers of the result. It raises UnsupportedError for calls
            that have no lowering to integers.
        result: The type of a result that is not quantised, such as a comparison's; None for quantised results.
    """

    function: Function
    result: DType | None = None

    def lower(self, node: Node, partition: Partition) -> None:
        """Lowers the unit whose operator a node calls, and stores its result as that of the unit's last node."""
        unit = partition.units[node]
        out = parameters_of(unit.last if self.result is None else unit.operands[0], partition.program)
        if out.dtype not in _RANGES:
            raise UnsupportedError(f"its result is {out.dtype.name.lower()}; int8 and int16 are lowered")
        call = IntegerCall(partition.builder, node, partition.resolve, partition.program, out)
        result = self.function(call)
        if isinstance(result, list):
            if unit.index is None or unit.index >= len(result):
                raise UnsupportedError("another than its first result is read")
            result = result[unit.index]
        placed = call.with_layout(result)
        if placed.value.dtype != (out.dtype if self.result is None else self.result):
            raise UnsupportedError(f"its result would be {placed.value.dtype.name.lower()}")
        shape = tuple(unit.last.meta["val"].shape[dim] for dim in placed.order)
        assert placed.value.shape == shape, (name_of(node), placed.value.shape, shape)
        if self.result is None:
            placed = Placed(_limited(call, placed.value, unit.limit), placed.order)
        partition.results[unit.last] = placed


INTEGER = Operators[IntegerLowering]("TOSA")


def lowers_integers(*names: str, result: DType | None = None) -> Callable[[Function], Function]:
    """Puts a function into the table. `result` is the type of results that are not quantised."""

    def put(function: Function) -> Function:
        INTEGER.add(names, IntegerLowering(function, result))
        return function

    return put


def _limited(call: IntegerCall, value: Any, limit: Node | None) -> Any:
    """Clamps integers to the range of the quantisation and of an activation function."""
    out: Parameters = call.out
    low, high = out.low, out.high
    if limit is not None:
        bounds = (0.0, None) if name_of(limit) == "aten.relu.default" else _bounds(limit)
        low = low if bounds[0] is None else max(low, int(out.quantized(np.float32(bounds[0]))))
        high = high if bounds[1] is None else min(high, int(out.quantized(np.float32(bounds[1]))))
    return value if (low, high) == _RANGES[out.dtype] else call.b.clamp(value, low, high)


def _bounds(limit: Node) -> tuple[float | None, float | None]:
    named = dict(zip(("self", "low", "high"), limit.args, strict=False))
    defaults = (-1.0, 1.0) if name_of(limit) == "aten.hardtanh.default" else (None, None)
    low = named.get("low", limit.kwargs.get("min_val", limit.kwargs.get("min", defaults[0])))
    high = named.get("high", limit.kwargs.get("max_val", limit.kwargs.get("max", defaults[1])))
    return low, high
