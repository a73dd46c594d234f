# SPDX-License-Identifier: BSD-3-Clause
"""Cells of recurrent layers, which the exporter has taken apart: one step each, which reads gates where they lie, so
that what splits them moves nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from sdk.backends.xnnpack.constants import is_constant
from sdk.backends.xnnpack.operators.operator import argument, rank_of
from sdk.backends.xnnpack.operators.views import as_view
from sdk.backends.xnnpack.quantization import name_of
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import StepKind
from sdk.backends.xnnpack.subgraph_writer import SubgraphWriter

# Flags.
HAS_TWO = 1


@dataclass(frozen=True)
class LstmCell:
    """sigmoid(f) * state + sigmoid(i) * tanh(g), and sigmoid(o) * tanh of that.

    Attributes:
        gates: What holds i, f, g and o one behind the other in its last dimension; one node or two whose sum does.
        next_state, tanh, hidden: What the cell computes.
    """

    gates: tuple[Node, ...]
    state: Node
    next_state: Node
    tanh: Node
    hidden: Node


def fused_lstm_cell(node: Node) -> LstmCell | None:
    """The cell whose next state a sum is, where nothing else reads what is between."""
    if name_of(node) != "aten.add.Tensor" or argument(node, 2) != 1:
        return None
    for kept, new in _both_orders(node):
        for forget, state in _factors(kept, "aten.sigmoid.default"):
            for input_gate, candidate in _factors(new, "aten.sigmoid.default"):
                if _only_operand(candidate, "aten.tanh.default") is None:
                    continue
                for tanh in node.users:
                    hidden = _only_user(tanh) if name_of(tanh) == "aten.tanh.default" else None
                    for output, other in _factors(hidden, "aten.sigmoid.default", is_last=True):
                        activations = (input_gate, forget, candidate, output)
                        gates = _gates_of([activation.args[0] for activation in activations], node)
                        if other is tanh and hidden is not None and gates and _are_alike(node, state, hidden):
                            return LstmCell(gates, state, node, tanh, hidden)
    return None


def write_lstm_cell(writer: SubgraphWriter, cell: LstmCell) -> None:
    places = [_place(writer, gates, cell.state) for gates in cell.gates]
    inputs = [*(writer.read(source) for source, _ in places), writer.read(cell.state)]
    is_read = set(cell.next_state.users) != {cell.tanh}
    writer.cover(cell.tanh)
    if not is_read:
        writer.cover(cell.next_state)
    writer.add_step(
        StepKind.LSTM_CELL,
        inputs,
        writer.result(cell.hidden),
        [part for _, part in places],
        flags=HAS_TWO if len(places) == 2 else 0,
        more_outputs=[writer.result(cell.next_state)] if is_read else [],
    )


def _place(writer: SubgraphWriter, gates: Node, state: Node) -> tuple[Node, int]:
    """What the gates of a step are one of several equal parts of, and which."""
    shape = [*state.meta["val"].shape[:-1], 4 * state.meta["val"].shape[-1]]
    if is_constant(writer.program, gates) or not all(isinstance(size, int) for size in shape):
        return gates, 0
    count = torch.Size(shape).numel()

    def is_part(source: Node, view: torch.Tensor) -> bool:
        is_there = writer.has(source, False) or writer.has(source, True)
        whole = source.meta["val"].numel()
        return is_there and view.is_contiguous() and view.storage_offset() % count == 0 and whole % count == 0

    source, view = as_view(gates, is_part)
    return source, int(view.storage_offset()) // count


def _gates_of(gates: list[Any], next_state: Node) -> tuple[Node, ...] | None:
    """What i, f, g and o are the four equal parts of, or the two whose sum it is."""
    split: Any = gates[0].args[0] if name_of(gates[0]) == "getitem" else None
    if name_of(split) != "aten.split_with_sizes_copy.default" or len(split.users) != len(gates):
        return None
    width = next_state.meta["val"].shape[-1]
    if list(split.args[1]) != [width] * 4 or argument(split, 2) % rank_of(gates[0]) != rank_of(gates[0]) - 1:
        return None
    for part, gate in enumerate(gates):
        if name_of(gate) != "getitem" or gate.args != (split, part) or len(gate.users) != 1:
            return None
        if not _are_alike(next_state, gate):
            return None
    total: Any = split.args[0]
    if name_of(total) == "aten.add.Tensor" and argument(total, 2) == 1 and len(total.users) == 1:
        operands = tuple(operand for operand in total.args[:2] if isinstance(operand, Node))
        count = total.meta["val"].numel()
        if len(operands) == 2 and all(o.meta["val"].numel() == count and _is_float(o) for o in operands):
            return operands
    return (total,)


def _factors(product: Any, activation: str, is_last: bool = False) -> Iterator[tuple[Any, Node]]:
    """The factors of a product, the first of which an activation yields. Only one call reads the activation, and the
    product unless it `is_last`."""
    if name_of(product) != "aten.mul.Tensor" or not (is_last or len(product.users) == 1):
        return
    for first, second in _both_orders(product):
        if _only_operand(first, activation) is not None and isinstance(second, Node):
            yield first, second


def _both_orders(call: Node) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return tuple(call.args[:2]), tuple(call.args[1::-1])


def _only_operand(call: Any, name: str) -> Any:
    """What an operator is applied to whose result one call reads."""
    return call.args[0] if name_of(call) == name and len(call.users) == 1 else None


def _only_user(node: Node) -> Node | None:
    return next(iter(node.users)) if len(node.users) == 1 else None


def _are_alike(node: Node, *others: Node) -> bool:
    """Whether tensors are float32 and of one shape."""
    return _is_float(node) and all(_is_float(o) and o.meta["val"].shape == node.meta["val"].shape for o in others)


def _is_float(node: Node) -> bool:
    return node.meta["val"].dtype == torch.float32
