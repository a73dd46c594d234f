# SPDX-License-Identifier: BSD-3-Clause
"""The table of operators: a lowering for each operator of the edge dialect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.fx import Node

from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.lowering.call import Call, Placed, static_shape
from sdk.backends.arm.tosa.types import to_tosa
from sdk.backends.graph.names import name_of
from sdk.backends.graph.shapes import is_tensor
from sdk.backends.operators import Operators

if TYPE_CHECKING:
    from sdk.backends.arm.tosa.lower import Partition

Function = Callable[..., Any]


class Tried:
    """An operator whose lowering decides which calls TOSA can express."""

    def refusal(self, node: Node, partition: Partition) -> str | None:
        """Lowers the call to the partition. Returns the reason if the call cannot be lowered, otherwise None."""
        try:
            self.lower(node, partition)
        except UnsupportedError as error:
            return str(error)
        return None

    def lower(self, node: Node, partition: Partition) -> None:
        """Adds a call to a partition, and its result, or the list of its results, to the partition's results.

        Raises:
            UnsupportedError: TOSA cannot express the call; partitioners show the text.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Lowering(Tried):
    """How calls of an operator are lowered in floats.

    Attributes:
        function: Gets a `Call`, and returns its result: a `Value`, a `Placed`, or a list of them. It raises
            UnsupportedError for calls that TOSA cannot express.
        indices: Whether operands and results may be int64. They are kept as int32: the operator chooses, moves or
            produces indices, and does not compute with them.
    """

    function: Function
    indices: bool = False

    def lower(self, node: Node, partition: Partition) -> None:
        if not self.indices:
            _refuse_int64(node)
        for operand in node.all_input_nodes:
            if is_tensor(operand) and 0 in static_shape(operand):
                raise UnsupportedError("a tensor has no elements, which TOSA does not have")
        call = Call(partition.builder, node, partition.resolve)
        result = self.function(call)
        partition.results[node] = (
            [_checked(call, each, position) for position, each in enumerate(result)]
            if isinstance(result, list)
            else _checked(call, result, None)
        )


LOWERINGS = Operators[Lowering]("TOSA")


def lowers(*names: str, indices: bool = False) -> Callable[[Function], Function]:
    """Puts a function into the table."""

    def put(function: Function) -> Function:
        LOWERINGS.add(names, Lowering(function, indices))
        return function

    return put


def _refuse_int64(node: Node) -> None:
    values = [each.meta.get("val") for each in (node, *node.all_input_nodes)]
    if any(isinstance(value, torch.Tensor) and value.dtype == torch.int64 for value in values):
        raise UnsupportedError("it computes with int64, which TOSA 1.0 does not have")


def _checked(call: Call, result: Any, position: int | None) -> Placed:
    """Returns a result with its layout, after checking that its shape and type are those of the model."""
    result = call.with_layout(result)
    value = call.node.meta["val"] if position is None else call.node.meta["val"][position]
    if value.dtype in (torch.float16, torch.bfloat16):
        result = Placed(call.b.cast(result.value, to_tosa(value.dtype)), result.order)
    shape = tuple(value.shape[dim] for dim in result.order)
    if result.value.shape != shape or result.value.dtype != to_tosa(value.dtype):
        raise AssertionError(
            f"{name_of(call.node)} was lowered to {result.value.shape} {result.value.dtype.name} in the layout "
            f"{result.order}; expected {shape} {value.dtype}"
        )
    return result
