# SPDX-License-Identifier: BSD-3-Clause
"""Lowers the calls of a program: all of a partition, or one alone to find out whether TOSA has it."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.integer.units import Unit, find_units, lower_conversion, lower_unit
from sdk.backends.arm.tosa.lowering import LOWERINGS
from sdk.backends.arm.tosa.lowering.call import Call, Placed, static_shape
from sdk.backends.arm.tosa.schema import DType, Op
from sdk.backends.arm.tosa.specification import TosaSpecification
from sdk.backends.arm.tosa.types import to_array, to_tosa
from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import is_any_dequantize, is_quantize
from sdk.backends.graph.shapes import is_tensor
from sdk.backends.transforms.constants import get_constant, is_constant, settled
from sdk.exir.tensor import dim_order_of

CUSTOM_DOMAIN = "sdk"
"""The domain of operators that a user registers with a partitioner."""


class _Partition:
    """The calls of a program while they are lowered. Constants and dequantised integers are made when they are read."""

    def __init__(
        self,
        program: ExportedProgram,
        builder: Builder,
        custom: Collection[str],
        units: Mapping[Node, Unit],
        known: Callable[[Node], bool],
        in_memory_order: bool = False,
    ) -> None:
        self.program = program
        self.builder = builder
        self.custom = custom
        self.units = units
        self.known = known
        self.in_memory_order = in_memory_order
        self.results: dict[Node, Any] = {}

    def resolve(self, node: Node) -> Placed:
        """The tensor of an operand."""
        if node not in self.results:
            if self.known(node):
                self.results[node] = _constant(self.builder, self.program, node)
            elif is_any_dequantize(node):
                self.results[node] = lower_conversion(self.builder, node, self.resolve, self.program)
            else:
                self.results[node] = self.input(node)
        return self.results[node]

    def order_of(self, node: Node) -> tuple[int, ...]:
        """The dimensions of an input or output, in the order in which the graph has them."""
        value = node.meta["val"]
        return dim_order_of(value) if self.in_memory_order else tuple(range(value.dim()))

    def input(self, node: Node) -> Placed:
        """A new input of the graph."""
        order, shape = self.order_of(node), static_shape(node)
        dtype = to_tosa(node.meta["val"].dtype)
        return Placed(self.builder.input(node.name, [shape[dim] for dim in order], dtype), order)

    def lower(self, node: Node) -> None:
        """Adds a call. Those of a unit are added with its last; one that has no lowering to integers, in floats."""
        unit = self.units.get(node)
        if unit is None:
            if not is_any_dequantize(node):
                self.results[node] = self.result(node)
        elif node is unit.last:
            try:
                self.results[node] = lower_unit(self.builder, unit, self.resolve, self.program)
            except UnsupportedError:
                if not self.builder.specification.support_float():
                    raise
                for member in unit.members:
                    self.results[member] = self.result(member)

    def result(self, node: Node) -> Any:
        """The result of a call in floats, or a list of several."""
        if node.target is operator.getitem:
            return self.results[node.args[0]][node.args[1]]
        if is_quantize(node) or is_any_dequantize(node):
            return lower_conversion(self.builder, node, self.resolve, self.program)
        if name_of(node) not in LOWERINGS and name_of(node) not in self.custom:
            raise UnsupportedError("it has no lowering to TOSA")
        return _result(Call(self.builder, node, self.resolve), self.custom)


def lower(
    program: ExportedProgram,
    specification: TosaSpecification,
    custom: Collection[str] = (),
    in_memory_order: bool = False,
) -> Builder:
    """The TOSA graph of a partition. Its inputs and outputs are those of the program, in their order. Their dimensions
    are in the order of the model or, with `in_memory_order`, in that in which they lie in memory: for a runtime that
    gives the graph memory, channels-last tensors then need no transpose.

    Raises RuntimeError for a call that TOSA cannot express: partitioners leave those out.
    """
    builder = Builder(specification)
    nodes = list(program.graph.nodes)
    with settled(program):
        constants = {node for node in nodes if is_constant(program, node)}
        partition = _Partition(program, builder, custom, find_units(nodes), constants.__contains__, in_memory_order)
        for node in nodes:
            if node.op == "placeholder" and node not in constants:
                partition.resolve(node)
            elif node.op == "call_function" and node not in constants:
                builder.location = str(node.meta.get("stack_trace") or node.name).strip().rpartition("\n")[2].strip()
                try:
                    partition.lower(node)
                except UnsupportedError as error:
                    raise RuntimeError(f"{node.name} ({name_of(node)}) cannot be lowered to TOSA: {error}") from error
        for node in nodes[-1].args[0]:
            placed = partition.resolve(node)
            order = [placed.order.index(dim) for dim in partition.order_of(node)]
            builder.output(builder.transpose(placed.value, order))
    return builder


@dataclass(frozen=True)
class Examined:
    """What TOSA makes of a call: why it does not have it, or None; and whether the result is the operand."""

    refusal: str | None
    changes_nothing: bool = False


def examine(
    node: Node,
    program: ExportedProgram,
    specification: TosaSpecification,
    custom: Collection[str],
    units: Mapping[Node, Unit],
    known: Callable[[Node], bool],
) -> Examined:
    """Lowers a call alone, or with its unit, so that the answer is that of `lower`.

    Args:
        node: The call.
        program: Its program.
        specification: What of TOSA may be used.
        custom: Names of operators that become CUSTOM.
        units: Those of the program, by their members.
        known: Which operands are constants.
    """
    unit = units.get(node)
    if unit is not None:
        try:
            alone = _Partition(program, Builder(specification), custom, {}, known)
            lower_unit(alone.builder, unit, alone.resolve, program)
            return Examined(None)
        except UnsupportedError as error:
            if not specification.support_float():
                return Examined(str(error))
    elif is_any_dequantize(node) and not specification.support_float():
        within = all(user in units and node in units[user].operands for user in node.users)
        return Examined(None if within else "what reads it is not quantised", True)
    partition = _Partition(program, Builder(specification), custom, {}, known)
    try:
        results = partition.result(node)
        _check_floats(node, specification)
    except UnsupportedError as error:
        return Examined(str(error))
    if not isinstance(results, list):
        converts = unit is None and (is_quantize(node) or is_any_dequantize(node))
        return Examined(None, converts or results in partition.results.values())
    for user in node.users:
        if user.target is not operator.getitem or user.args[1] >= len(results):
            return Examined("another than its first result is read")
    return Examined(None)


def _check_floats(node: Node, specification: TosaSpecification) -> None:
    """A move of floats is not an operator of TOSA if only the layout changes, but not an integer one."""
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor) and value.is_floating_point() and not specification.support_float():
        raise UnsupportedError(f"it moves {str(value.dtype)[6:]}, and {specification} has no floats (+FP)")


def _constant(builder: Builder, program: ExportedProgram, node: Node) -> Placed:
    tensor = get_constant(program, node)
    assert tensor is not None, node
    return Placed.plain(builder.constant(to_array(tensor), to_tosa(tensor.dtype)))


def _result(call: Call, custom: Collection[str]) -> Any:
    """The result of a call in floats, or a list of several, with the shapes and types of the model."""
    node = call.node
    name = name_of(node)
    if name in custom:
        return _custom(call, name)
    lowering = LOWERINGS[name]
    if not lowering.indices:
        _refuse_int64(node)
    for operand in node.all_input_nodes:
        if is_tensor(operand) and 0 in static_shape(operand):
            raise UnsupportedError("a tensor has no elements, which TOSA does not have")
    result = lowering.function(call)
    return (
        [_checked(call, each, position) for position, each in enumerate(result)]
        if isinstance(result, list)
        else (_checked(call, result, None))
    )


def _refuse_int64(node: Node) -> None:
    values = [each.meta.get("val") for each in (node, *node.all_input_nodes)]
    if any(isinstance(value, torch.Tensor) and value.dtype == torch.int64 for value in values):
        raise UnsupportedError("it computes with int64, which TOSA 1.0 does not have")


def _checked(call: Call, result: Any, position: int | None) -> Placed:
    """A result with its layout, whose shape and type are those of the model."""
    if not isinstance(result, Placed):
        order = call.order if call.order is not None and len(call.order) == result.rank else None
        result = Placed.plain(result) if order is None else Placed(result, order)
    value = call.node.meta["val"] if position is None else call.node.meta["val"][position]
    if value.dtype == torch.float16:
        result = Placed(call.b.cast(result.value, DType.FP16), result.order)
    shape = tuple(value.shape[dim] for dim in result.order)
    if result.value.shape != shape or result.value.dtype != to_tosa(value.dtype):
        raise AssertionError(
            f"{name_of(call.node)} was lowered to {result.value.shape} {result.value.dtype.name} in the layout "
            f"{result.order}; expected {shape} {value.dtype}"
        )
    return result


def _custom(call: Call, name: str) -> Placed:
    """CUSTOM with the name of the operator. Its numbers, by argument, are JSON in the attributes."""
    nodes = [each for each in call.node.all_input_nodes if is_tensor(each)]
    numbers = {
        argument.name: call[argument.name]
        for argument in call.node.target._schema.arguments
        if not any(isinstance(each, Node) for each in _flat(call[argument.name]))
    }
    if not is_tensor(call.node):
        raise UnsupportedError("it has several results")
    result = call.b.emit(
        Op["CUSTOM"],
        [call.value(node) for node in nodes],
        call.shape,
        call.dtype,
        operator_name=name,
        domain_name=CUSTOM_DOMAIN,
        implementation_attrs=json.dumps(numbers, default=str).encode(),
    )
    return Placed.plain(result)


def _flat(argument: Any) -> list[Any]:
    return list(argument) if isinstance(argument, (list, tuple)) else [argument]
