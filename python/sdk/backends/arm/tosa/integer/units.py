# SPDX-License-Identifier: BSD-3-Clause
"""Units: the nodes with which PT2E expresses one quantised operator.

The operands are dequantised, and the result is quantised, possibly after an activation function that only clamps. A
unit is lowered to integers as a whole; its floats are never computed. The results of comparisons and of argmax are not
quantised, because they are bool or an index. A softmax may include the mask of its operand: a `where`, or a sum with a
constant."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable
from dataclasses import dataclass

from torch.fx import Node

from sdk.backends.arm.tosa.integer.masking import CHOICE, SUM
from sdk.backends.arm.tosa.integer.registry import INTEGER
from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import is_any_dequantize, is_quantize

_SOFTMAXES = ("aten._softmax.default", "aten._safe_softmax.default")
_LIMITS = ("aten.relu.default", "aten.hardtanh.default", "aten.clamp.default")


@dataclass(frozen=True)
class Unit:
    """The nodes of a unit.

    Attributes:
        call: The operator.
        mask: The `where` or the addition that applies the mask to the operator's operand, or None.
        index: The index of the operator's result; None if it has only one.
        limit: The activation function after the operator, or None.
        last: The node with the result: the quantize node, or the operator itself if its result is not quantised.
        members: All of these, with the getitem node between them.
    """

    call: Node
    mask: Node | None
    index: int | None
    limit: Node | None
    last: Node
    members: tuple[Node, ...]

    @property
    def operands(self) -> list[Node]:
        """The nodes that dequantise what the operator reads."""
        return [node for node in (self.mask or self.call).all_input_nodes if is_any_dequantize(node)]


def find_units(nodes: Iterable[Node]) -> dict[Node, Unit]:
    """The units among nodes, by each of their members."""
    found: dict[Node, Unit] = {}
    for node in nodes:
        unit = _unit_of(node) if is_quantize(node) else _unquantized(node)
        if unit is not None:
            found.update(dict.fromkeys(unit.members, unit))
    return found


def _unquantized(node: Node) -> Unit | None:
    entry = INTEGER.get(name_of(node)) if node.op == "call_function" else None
    if entry is None or entry.result is None:
        return None
    unit = Unit(node, None, None, None, node, (node,))
    return unit if unit.operands == node.all_input_nodes else None


def _unit_of(quantize: Node) -> Unit | None:
    source = quantize.args[0]
    limit = None
    if name_of(source) in _LIMITS and not is_any_dequantize(source.args[0]):
        limit, source = source, source.args[0]
    members = [each for each in (limit, quantize) if each is not None]
    index = None
    if isinstance(source, Node) and source.target is operator.getitem:
        members.insert(0, source)
        source, index = source.args
    if not isinstance(source, Node) or source.op != "call_function" or name_of(source) not in INTEGER:
        return None
    members.insert(0, source)
    mask = source.args[0] if name_of(source) in _SOFTMAXES and name_of(source.args[0]) in (CHOICE, SUM) else None
    if mask is not None:
        members.insert(0, mask)
    if index is None and any(list(node.users) != [after] for node, after in itertools.pairwise(members)):
        return None  # something else reads the floats
    if index is not None and any(len(each.users) != 1 for each in members[1:-1]):
        return None
    unit = Unit(source, mask, index, limit, quantize, tuple(members))
    return unit if unit.operands else None
