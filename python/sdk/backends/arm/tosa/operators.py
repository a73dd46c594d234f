# SPDX-License-Identifier: BSD-3-Clause
"""The table of operators for TOSA: operators with a lowering, operators that quantise, and the user's operators."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch.fx import Node

from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.integer.conversions import Dequantize, Quantize
from sdk.backends.arm.tosa.lowering import LOWERINGS
from sdk.backends.arm.tosa.lowering.call import Call, Placed
from sdk.backends.arm.tosa.lowering.registry import Tried
from sdk.backends.arm.tosa.schema import Op
from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import DEQUANTIZE, DEQUANTIZE_CHANNELS, QUANTIZE
from sdk.backends.graph.shapes import is_tensor
from sdk.backends.operators import Operators

if TYPE_CHECKING:
    from sdk.backends.arm.tosa.lower import Partition

CUSTOM_DOMAIN = "sdk"
"""The domain of operators that a user registers with a partitioner."""


class Custom(Tried):
    """An operator that a user registers: it becomes CUSTOM with its name. The arguments that are not tensors or other
    nodes are written to `implementation_attrs` as a JSON object by argument name."""

    def lower(self, node: Node, partition: Partition) -> None:
        call = Call(partition.builder, node, partition.resolve)
        target: Any = node.target
        numbers = {
            argument.name: call[argument.name]
            for argument in target._schema.arguments
            if not any(isinstance(each, Node) for each in _flat(call[argument.name]))
        }
        if not is_tensor(node):
            raise UnsupportedError("it has several results")
        if node.meta["val"].dtype == torch.bfloat16:
            raise UnsupportedError("its result is bfloat16, which custom operators do not have")
        result = call.b.emit(
            Op["CUSTOM"],
            [call.value(operand) for operand in node.all_input_nodes if is_tensor(operand)],
            call.shape,
            call.dtype,
            operator_name=name_of(node),
            domain_name=CUSTOM_DOMAIN,
            implementation_attrs=json.dumps(numbers, default=str).encode(),
        )
        partition.results[node] = Placed.plain(result)


def operators_with(custom: Iterable[str] = ()) -> Operators[Tried]:
    """The table of operators, to which the user's operators are added by name."""
    table = Operators[Tried]("TOSA")
    table.update(LOWERINGS)
    table.add([QUANTIZE], Quantize())
    table.add([DEQUANTIZE, DEQUANTIZE_CHANNELS], Dequantize())
    table.add(custom, Custom(), replaces=True)
    return table


OPERATORS = operators_with()


def _flat(argument: Any) -> list[Any]:
    return list(argument) if isinstance(argument, (list, tuple)) else [argument]
