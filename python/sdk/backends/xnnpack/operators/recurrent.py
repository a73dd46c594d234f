# SPDX-License-Identifier: BSD-3-Clause
"""Recurrent cells, which the exporter has decomposed, as one step each. The step reads its gates as parts of a larger
tensor, so that splitting that tensor copies nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from sdk.backends.graph.names import argument, name_of
from sdk.backends.graph.sums import sum_of, terms_of
from sdk.backends.transforms.constants import is_constant
from sdk.backends.xnnpack.operators.operator import rank_of
from sdk.backends.xnnpack.operators.views import as_view
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import StepKind
from sdk.backends.xnnpack.subgraph_writer import SubgraphWriter
from sdk.exir.sym_util import are_same_sizes

# Flags.
HAS_TWO = 1


@dataclass(frozen=True)
class LstmCell:
    """next_state = sigmoid(f) * state + sigmoid(i) * tanh(g), hidden = sigmoid(o) * tanh(next_state).

    Attributes:
        gates: One node, or two to be added, with i, f, g and o in sequence in the last dimension.
        next_state, tanh, hidden: The nodes that the cell computes.
    """

    gates: tuple[Node, ...]
    state: Node
    next_state: Node
    tanh: Node
    hidden: Node

    def write(self, writer: SubgraphWriter) -> None:
        places = [_place(writer, gates, self.state, 4) for gates in self.gates]
        inputs = [*(writer.read(source) for source, _ in places), writer.read(self.state)]
        is_read = set(self.next_state.users) != {self.tanh}
        writer.cover(self.tanh)
        if not is_read:
            writer.cover(self.next_state)
        writer.add_step(
            StepKind.LSTM_CELL,
            inputs,
            writer.result(self.hidden),
            [part for _, part in places],
            flags=HAS_TWO if len(places) == 2 else 0,
            more_outputs=[writer.result(self.next_state)] if is_read else [],
        )


@dataclass(frozen=True)
class GruCell:
    """n = tanh(n_x + sigmoid(r_h + r_x) * n_h), next_hidden = (hidden - n) * sigmoid(z_h + z_x) + n.

    Attributes:
        hidden_gates, input_gates: Nodes with r, z and n in sequence in the last dimension.
        next_hidden: The node that the cell computes.
    """

    hidden_gates: Node
    input_gates: Node
    hidden: Node
    next_hidden: Node

    def write(self, writer: SubgraphWriter) -> None:
        places = [_place(writer, gates, self.hidden, 3) for gates in (self.hidden_gates, self.input_gates)]
        inputs = [*(writer.read(source) for source, _ in places), writer.read(self.hidden)]
        writer.add_step(StepKind.GRU_CELL, inputs, writer.result(self.next_hidden), [part for _, part in places])


def fused_cell(node: Node) -> LstmCell | GruCell | None:
    """The cell that `node`, a sum, computes: the next state of an LSTM cell, or the next hidden state of a GRU cell.
    None if `node` computes no cell, or if other nodes read values inside the cell."""
    return _lstm_cell(node) or _gru_cell(node)


def _gru_cell(node: Node) -> GruCell | None:
    for product, n in _terms(node, is_last=True):
        if name_of(n) != "aten.tanh.default" or len(n.users) != 2:
            continue
        for z, difference in _factors(product, "aten.sigmoid.default"):
            found = sum_of(difference)
            if found is None or found.second is not n or found.factor != -1 or len(difference.users) != 1:
                continue
            hidden = found.first
            if not isinstance(hidden, Node) or not _are_alike(node, hidden):
                continue
            for n_x, gated in _terms(n.args[0]):
                for r, n_h in _factors(gated, "aten.sigmoid.default"):
                    hidden_gates, input_gates = (_split_of(part, node, 3) for part in (n_h, n_x))
                    if hidden_gates is None or input_gates is None or hidden_gates is input_gates:
                        continue
                    wanted = [{(split, i) for split in (hidden_gates, input_gates)} for i in range(2)]
                    if [{part.args for part in _parts_of(gate.args[0])} for gate in (r, z)] != wanted:
                        continue
                    if n_h.args[1] == n_x.args[1] == 2:
                        return GruCell(hidden_gates.args[0], input_gates.args[0], hidden, node)
    return None


def _terms(total: Any, is_last: bool = False) -> Iterator[tuple[Any, ...]]:
    """Yields the terms of a sum, in both orders. The sum has only one reader unless `is_last`."""
    terms = terms_of(total)
    if terms is not None and (is_last or len(total.users) == 1):
        yield from (terms, terms[::-1])


def _parts_of(total: Any) -> list[Node]:
    """The terms of a sum with one reader, if they are parts of a split tensor that no other node reads."""
    terms = next(_terms(total), ())
    return [term for term in terms if name_of(term) == "getitem" and len(term.users) == 1]


def _lstm_cell(node: Node) -> LstmCell | None:
    for kept, new in _terms(node, is_last=True):
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


def _place(writer: SubgraphWriter, gates: Node, state: Node, count: int) -> tuple[Node, int]:
    """The tensor that has `count` gates of several time steps as equal parts, and the number of the part."""
    shape = [*state.meta["val"].shape[:-1], count * state.meta["val"].shape[-1]]
    if is_constant(writer.program, gates) or not all(isinstance(size, int) for size in shape):
        return gates, 0
    size = torch.Size(shape).numel()

    def is_part(source: Node, view: torch.Tensor) -> bool:
        whole = source.meta["val"].numel()
        return (
            writer.can_read(source) and view.is_contiguous() and view.storage_offset() % size == 0 and whole % size == 0
        )

    source, view = as_view(gates, is_part)
    return source, int(view.storage_offset()) // size


def _gates_of(gates: list[Any], next_state: Node) -> tuple[Node, ...] | None:
    """The tensor whose four equal parts are i, f, g and o, or two tensors with this sum; None if there is no such
    tensor."""
    split = _split_of(gates[0], next_state, 4)
    if split is None or any(name_of(gate) != "getitem" or len(gate.users) != 1 for gate in gates):
        return None
    if [gate.args for gate in gates] != [(split, part) for part in range(4)]:
        return None
    total: Any = split.args[0]
    for terms in _terms(total):
        count = total.meta["val"].numel()
        if all(isinstance(o, Node) and o.meta["val"].numel() == count and _is_float(o) for o in terms):
            return terms
    return (total,)


def _split_of(part: Any, state: Node, count: int) -> Any:
    """Returns the node that splits a tensor into `count` gates of a state's width, one of which is `part`. Returns None
    if there is no such node, or if gates have other users."""
    split: Any = part.args[0] if name_of(part) == "getitem" and len(part.users) == 1 else None
    if name_of(split) != "aten.split_with_sizes_copy.default" or len(split.users) != count:
        return None
    is_last = argument(split, 2) % rank_of(part) == rank_of(part) - 1
    is_whole = part.meta["val"].numel() == state.meta["val"].numel() and _is_float(part)
    widths = [state.meta["val"].shape[-1]] * count
    return split if is_last and is_whole and list(split.args[1]) == widths else None


def _factors(product: Any, activation: str, is_last: bool = False) -> Iterator[tuple[Any, Node]]:
    """Pairs (activation, other factor) of a product. The activation has only one reader; so has the product unless
    `is_last`."""
    if name_of(product) != "aten.mul.Tensor" or not (is_last or len(product.users) == 1):
        return
    for first, second in _both_orders(product):
        if _only_operand(first, activation) is not None and isinstance(second, Node):
            yield first, second


def _both_orders(call: Node) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return tuple(call.args[:2]), tuple(call.args[1::-1])


def _only_operand(call: Any, name: str) -> Any:
    """Returns the operand of the operator `name` if its result has one user, else None."""
    return call.args[0] if name_of(call) == name and len(call.users) == 1 else None


def _only_user(node: Node) -> Node | None:
    return next(iter(node.users)) if len(node.users) == 1 else None


def _are_alike(node: Node, *others: Node) -> bool:
    """Whether tensors are float32 and have the same shape."""
    return _is_float(node) and all(
        _is_float(o) and are_same_sizes(o.meta["val"].shape, node.meta["val"].shape) for o in others
    )


def _is_float(node: Node) -> bool:
    return node.meta["val"].dtype == torch.float32
