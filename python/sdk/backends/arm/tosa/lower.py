# SPDX-License-Identifier: BSD-3-Clause
"""Lowers the calls of a program: a whole partition, or a single call to find out whether TOSA supports it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.integer import INTEGER
from sdk.backends.arm.tosa.integer.units import Unit, find_units
from sdk.backends.arm.tosa.lowering.call import Placed, static_shape
from sdk.backends.arm.tosa.lowering.registry import Tried
from sdk.backends.arm.tosa.operators import operators_with
from sdk.backends.arm.tosa.specification import TosaSpecification
from sdk.backends.arm.tosa.types import to_array, to_computed, to_tosa
from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import is_any_dequantize, is_quantize
from sdk.backends.operators import Operators
from sdk.backends.transforms.constants import get_constant, is_constant, settled
from sdk.exir.debug_handle_utils import DEBUG_HANDLE_KEY
from sdk.exir.tensor import dim_order_of


class Partition:
    """The calls of a program while they are lowered. Constants and dequantised integers are made when they are read.

    Attributes:
        program: The program.
        builder: The graph of TOSA to which operators are added.
        operators: The table of operators.
        units: The units of the program, by their members.
        results: The result of each lowered call, or the list of several.
    """

    def __init__(
        self,
        program: ExportedProgram,
        builder: Builder,
        operators: Operators[Tried],
        units: Mapping[Node, Unit],
        known: Callable[[Node], bool],
        in_memory_order: bool = False,
    ) -> None:
        self.program = program
        self.builder = builder
        self.operators = operators
        self.units = units
        self.results: dict[Node, Any] = {}
        self._known = known
        self._in_memory_order = in_memory_order

    def resolve(self, node: Node) -> Placed:
        """The tensor of an operand."""
        if node not in self.results:
            if self._known(node):
                tensor = get_constant(self.program, node)
                assert tensor is not None, node
                constant = self.builder.constant(to_array(tensor), to_computed(tensor.dtype))
                self.results[node] = Placed.plain(constant)
            elif is_any_dequantize(node):
                self.operators[name_of(node)].lower(node, self)
            else:
                self.results[node] = self.input(node)
        found: Placed = self.results[node]
        return found

    def order_of(self, node: Node) -> tuple[int, ...]:
        """Returns the dimensions of an input or output in the order that the graph uses."""
        value = node.meta["val"]
        return dim_order_of(value) if self._in_memory_order else tuple(range(value.dim()))

    def input(self, node: Node) -> Placed:
        """A new input of the graph."""
        order, shape = self.order_of(node), static_shape(node)
        dtype = to_tosa(node.meta["val"].dtype)
        return Placed(self.builder.input(node.name, [shape[dim] for dim in order], dtype), order)

    def lower(self, node: Node) -> None:
        """Lowers a call. The calls of a unit are lowered with its last call; units without a lowering to integers are
        lowered in floats."""
        unit = self.units.get(node)
        if unit is None:
            if not is_any_dequantize(node):
                self._lower_alone(node)
        elif node is unit.last:
            try:
                INTEGER[name_of(unit.call)].lower(unit.call, self)
            except UnsupportedError:
                if not self.builder.specification.support_float():
                    raise
                for member in unit.members:
                    self._lower_alone(member)

    def _lower_alone(self, node: Node) -> None:
        if node.target is operator.getitem:
            self.results[node] = self.results[node.args[0]][node.args[1]]
        elif name_of(node) in self.operators:
            self.operators[name_of(node)].lower(node, self)
        else:
            raise UnsupportedError("TOSA has no such operator")


def lower(
    program: ExportedProgram,
    specification: TosaSpecification,
    custom: Collection[str] = (),
    in_memory_order: bool = False,
) -> Builder:
    """The TOSA graph of a partition. It has the program's inputs and outputs, in the same order. Their dimensions are
    in the order of the model or, with `in_memory_order`, in the order in memory: a runtime that passes its memory to
    the graph then needs no transpose for channels-last tensors.

    Raises RuntimeError for a call that TOSA cannot express: partitioners leave those out.
    """
    builder = Builder(specification)
    nodes = list(program.graph.nodes)
    with settled(program):
        constants = {node for node in nodes if is_constant(program, node)}
        operators, units = operators_with(custom), find_units(nodes)
        partition = Partition(program, builder, operators, units, constants.__contains__, in_memory_order)
        for node in nodes:
            if node.op == "placeholder" and node not in constants:
                partition.resolve(node)
            elif node.op == "call_function" and node not in constants:
                builder.origin = _handles(partition.units.get(node), node)
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
    """The result of examining a call: why TOSA does not support it, or None; and whether the result is the operand."""

    refusal: str | None
    changes_nothing: bool = False


def examine(
    node: Node,
    program: ExportedProgram,
    specification: TosaSpecification,
    operators: Operators[Tried],
    units: Mapping[Node, Unit],
    known: Callable[[Node], bool],
) -> Examined:
    """Lowers a call alone, or with its unit, so that the answer agrees with `lower`.

    Args:
        node: The call.
        program: Its program.
        specification: The profiles and extensions of TOSA that may be used.
        operators: The table of operators.
        units: The units of the program, by their members.
        known: Tells which operands are constants.
    """
    unit = units.get(node)
    if unit is not None:
        refusal = INTEGER.refusal(unit.call, Partition(program, Builder(specification), operators, units, known))
        if refusal is None or not specification.support_float():
            return Examined(refusal)
    elif is_any_dequantize(node) and not specification.support_float():
        within = all(user in units and node in units[user].operands for user in node.users)
        return Examined(None if within else "it is read by a call that is not quantised", True)
    partition = Partition(program, Builder(specification), operators, units, known)
    refusal = operators.refusal(node, partition) or _refusal_of_floats(node, specification)
    if refusal is not None:
        return Examined(refusal)
    results = partition.results.pop(node)
    if not isinstance(results, list):
        converts = unit is None and (is_quantize(node) or is_any_dequantize(node))
        return Examined(None, converts or results in partition.results.values())
    for user in node.users:
        if user.target is not operator.getitem or user.args[1] >= len(results):
            return Examined("another than its first result is read")
    return Examined(None)


def _handles(unit: Unit | None, node: Node) -> tuple[int, ...]:
    """The debug handles of a node, or of the unit that it is part of."""
    members = (node,) if unit is None else unit.members
    return tuple(dict.fromkeys(each.meta[DEBUG_HANDLE_KEY] for each in members if each.meta.get(DEBUG_HANDLE_KEY)))


def _refusal_of_floats(node: Node, specification: TosaSpecification) -> str | None:
    """Refuses calls on floats if the specification has no floats, even if the call only moves elements and adds no
    operator."""
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor) and value.is_floating_point() and not specification.support_float():
        return f"it moves {str(value.dtype)[6:]}, and {specification} has no floats (+FP)"
    return None
