# SPDX-License-Identifier: BSD-3-Clause
"""Recurrent layers lowered to XNNPACK: cells that become one step (a node of this SDK's own), and those that do not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from recurrent_steps import Inputs, cells, check, graph_of, graphs_of, lower, others
from test_quantized import quantize
from torch import nn
from torchao.quantization.utils import compute_error

from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import NO_VALUE, StepKind, XNNGraph, XNNStep
from sdk.backends.xnnpack.serialization.xnnpack_graph_serialize import (
    IDENTIFIER,
)
from sdk.backends.xnnpack.subgraph_writer import SubgraphWriter
from sdk.exir.backend.utils import get_non_lowered_nodes
from sdk.runtime import Runtime


class Layer(nn.Module):
    """A recurrent layer whose states are separate inputs."""

    def __init__(self, layer: nn.RNNBase) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor, *states: torch.Tensor) -> tuple[torch.Tensor, ...]:
        out, after = self.layer(x, *([states] if len(states) > 1 else states))
        return (out, *after) if isinstance(after, tuple) else (out, after)


class Written(nn.Module):
    """A cell that is written out: one product for the input and the state, and its gates as `chunk` parts them."""

    def __init__(self, width: int, also: Callable[..., torch.Tensor] | None = None, order: str = "ifgo") -> None:
        super().__init__()
        self.linear, self.also, self.order = nn.Linear(5 + width, 4 * width), also, order

    def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, ...]:
        gates = dict(zip(self.order, self.linear(torch.cat([x, h], 1)).chunk(4, 1), strict=True))
        i, f, o = (gates[name].sigmoid() for name in "ifo")
        g = gates["g"].tanh()
        after = i * g + c * f
        hidden = after.tanh() * o
        return (hidden, after) if self.also is None else (hidden, after, self.also(i, g, gates))


def states(rows: int, batch: int, *widths: int) -> Inputs:
    return tuple(torch.linspace(-1, 1, rows * batch * width).reshape(rows, batch, width).sin() for width in widths)


def sequence(*shape: int) -> torch.Tensor:
    return torch.linspace(-3, 3, torch.Size(shape).numel()).reshape(shape).sin()


# The layer, its inputs and the number of cells.
LAYERS: dict[str, tuple[Callable[[], nn.Module], Inputs, int]] = {
    "LSTM": (lambda: nn.LSTM(5, 6), (sequence(3, 1, 5),), 3),
    "LSTM, two layers, batch first": (
        lambda: nn.LSTM(5, 17, num_layers=2, batch_first=True),
        (sequence(2, 4, 5),),
        8,
    ),
    "LSTM, no bias": (lambda: nn.LSTM(5, 6, bias=False), (sequence(3, 2, 5),), 3),
    "LSTM, given states": (lambda: nn.LSTM(5, 6, num_layers=2), (sequence(3, 2, 5), *states(2, 2, 6, 6)), 6),
    "LSTM, both directions": (lambda: nn.LSTM(5, 6, bidirectional=True), (sequence(3, 2, 5), *states(2, 2, 6, 6)), 6),
    "LSTM, projected": (lambda: nn.LSTM(5, 6, proj_size=4), (sequence(3, 2, 5), *states(1, 2, 4, 6)), 3),
    "LSTM, no batch": (lambda: nn.LSTM(5, 6), (sequence(3, 5),), 3),
    "LSTM, one step": (lambda: nn.LSTM(5, 6), (sequence(1, 2, 5),), 1),
    "GRU": (lambda: nn.GRU(5, 6), (sequence(3, 2, 5),), 3),
    "GRU, two layers, both directions": (
        lambda: nn.GRU(5, 6, num_layers=2, bidirectional=True, batch_first=True),
        (sequence(2, 3, 5), *states(4, 2, 6)),
        12,
    ),
    "GRU, no bias": (lambda: nn.GRU(5, 6, bias=False), (sequence(3, 2, 5),), 3),
}


@pytest.mark.sampled
@pytest.mark.parametrize("kind", LAYERS)
def test_each_cell_of_a_layer_is_a_step(kind: str) -> None:
    torch.manual_seed(0)
    make, inputs, count = LAYERS[kind]
    layer = make()
    step = StepKind.LSTM_CELL if isinstance(layer, nn.LSTM) else StepKind.GRU_CELL
    model = Layer(layer).eval()
    lowered = lower(model, inputs)
    # The other direction reads the reversed sequence, for which XNNPACK has no node.
    left = [node.target.__name__ for node in get_non_lowered_nodes(lowered.exported_program().graph_module.graph)]
    assert set(left) <= {"aten.flip.default"}
    graphs = [graph for graph in graphs_of(lowered) if cells(graph, step)]
    assert sum(len(cells(graph, step)) for graph in graphs) == count
    assert not any(others(graph) & {"Add", "Subtract", "Multiply", "Sigmoid", "Tanh"} for graph in graphs)
    check(model, inputs, lowered)


def test_gates_are_read_where_they_lie() -> None:
    """The products of all steps are one matrix multiplication. Each step reads a part of its result."""
    model, inputs = Layer(nn.LSTM(5, 6, batch_first=True)), (sequence(2, 4, 5),)
    graph = graph_of(lower(model, inputs))
    assert "StaticSlice" not in others(graph)
    assert [step.integers for step in cells(graph)] == [[0, part] for part in range(4)]
    assert len({step.input_ids[1] for step in cells(graph)}) == 1


def test_a_state_that_nothing_reads_is_no_result() -> None:
    class Hidden(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.LSTM(5, 6)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x)[0]

    model, inputs = Hidden().eval(), (sequence(3, 2, 5),)
    lowered = lower(model, inputs)
    assert [len(step.more_output_ids) for step in cells(graph_of(lowered))] == [1, 1, 0]
    check(model, inputs, lowered)


@pytest.mark.parametrize("kind", [StepKind.LSTM_CELL, StepKind.GRU_CELL])
def test_cells_between_quantised_products_are_steps(kind: StepKind) -> None:
    torch.manual_seed(0)
    model = Layer((nn.LSTM if kind == StepKind.LSTM_CELL else nn.GRU)(5, 6)).eval()
    inputs = (sequence(3, 2, 5),)
    expected = model(*inputs)[0]
    lowered = lower(quantize(model, inputs), inputs)
    graph = graph_of(lowered)
    assert len(cells(graph, kind)) == 3
    assert not others(graph)
    layers = [node.xnode_union for node in graph.xnodes if type(node.xnode_union).__name__ == "XNNFullyConnected"]
    assert len({layer.filter_id for layer in layers}) == 2
    (found, *_) = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward").execute(inputs)
    assert compute_error(expected, torch.as_tensor(found)) > 30


CELL_INPUTS = (sequence(3, 5), sequence(3, 6), sequence(3, 6).cos())


class Cell(nn.Module):
    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(5, 6, bias=bias)

    def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.cell(x, self.cell(x, (h, c)))


@pytest.mark.parametrize("bias", [True, False])
def test_lstm_cells_are_steps(bias: bool) -> None:
    model = Cell(bias).eval()
    lowered = lower(model, CELL_INPUTS)
    assert len(cells(graph_of(lowered))) == 2
    check(model, CELL_INPUTS, lowered)


def test_a_cell_that_is_written_out_is_a_step() -> None:
    model = Written(6).eval()
    lowered = lower(model, CELL_INPUTS)
    assert [len(step.input_ids) for step in cells(graph_of(lowered))] == [2]
    check(model, CELL_INPUTS, lowered)


NO_STEPS: dict[str, Callable[[], nn.Module]] = {
    "a gate is read elsewhere": lambda: Written(6, lambda i, g, gates: i),
    "a product is read elsewhere": lambda: Written(6, lambda i, g, gates: (i * g).exp()),
    "a gate before its function is read elsewhere": lambda: Written(6, lambda i, g, gates: gates["o"].exp()),
    "gates in another order": lambda: Written(6, order="ifog"),
}


@pytest.mark.parametrize("kind", NO_STEPS)
def test_what_is_no_lstm_stays_as_it_is(kind: str) -> None:
    model = NO_STEPS[kind]().eval()
    lowered = lower(model, CELL_INPUTS)
    graph_of(lowered, IDENTIFIER)
    check(model, CELL_INPUTS, lowered)


def test_gates_that_are_broadcast_are_no_step() -> None:
    model, inputs = Written(6).eval(), (*CELL_INPUTS[:2], CELL_INPUTS[2][:1])
    lowered = lower(model, inputs)
    graph_of(lowered, IDENTIFIER)
    check(model, inputs, lowered)


def test_states_in_half_precision_are_no_step() -> None:
    model, inputs = Written(6).eval().half(), tuple(x.half() for x in CELL_INPUTS)
    assert cells(graph_of(lower(model, inputs), IDENTIFIER)) == []


def test_compatible_programs_have_no_steps() -> None:
    model, inputs = Layer(nn.LSTM(5, 6)), (sequence(3, 2, 5),)
    lowered = lower(model, inputs, compat="1.4")
    assert cells(graph_of(lowered, IDENTIFIER)) == []
    check(model, inputs, lowered)


def _break(step: XNNStep, kind: str) -> None:
    if kind == "no state":
        step.input_ids.pop()
    elif kind == "gates for the state":
        step.input_ids[2] = step.input_ids[0]
    elif kind == "the state for gates":
        step.input_ids[0] = step.input_ids[2]
    elif kind == "a part behind the last":
        step.integers = [0, 1]
    elif kind == "three results":
        step.more_output_ids = step.more_output_ids * 2
    elif kind == "one result twice":
        step.more_output_ids = [step.output_id]
    elif kind == "no result":
        step.output_id, step.more_output_ids = NO_VALUE, [NO_VALUE]
    elif kind == "a result that was given":
        step.more_output_ids = [step.input_ids[2]]
    elif kind == "a result that is not there":
        step.more_output_ids = [1 << 20]
    else:
        step.kind = StepKind.GELU_TANH  # a step with one result


@pytest.mark.sampled
@pytest.mark.parametrize(
    "kind",
    [
        "no state",
        "gates for the state",
        "the state for gates",
        "a part behind the last",
        "three results",
        "one result twice",
        "no result",
        "a result that was given",
        "a result that is not there",
        "another kind",
    ],
)
def test_broken_cells_are_refused(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading the method fails with the error of a malformed payload."""
    graph = SubgraphWriter.graph

    def broken(writer: SubgraphWriter) -> XNNGraph:
        made = graph(writer)
        _break(cells(made)[0], kind)
        return made

    monkeypatch.setattr(SubgraphWriter, "graph", broken)
    program = lower(Cell(True), CELL_INPUTS).to_executorch().buffer
    with pytest.raises(RuntimeError, match=r"InvalidProgram|0x23"):
        Runtime.get().load_program(program).load_method("forward")


@pytest.mark.parametrize("take", ["last", "first", "two", "column"])
def test_a_state_of_a_sequence_is_read_where_it_is(take: str) -> None:
    """One time step is the result of its cell; other parts of the sequence are read from the concatenated states."""
    takes = {
        "last": lambda out: out[:, -1],
        "first": lambda out: out[:, :1],
        "two": lambda out: out[:, 1:3],
        "column": lambda out: out[:, :, 2],
    }

    class Taken(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.LSTM(5, 6, batch_first=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return takes[take](self.layer(x)[0])

    model, inputs = Taken().eval(), (sequence(2, 4, 5),)
    lowered = lower(model, inputs)
    kinds = [type(node.xnode_union).__name__ for node in graph_of(lowered).xnodes]
    assert ("XNNConcatenate4" in kinds) == (take in ("two", "column"))
    check(model, inputs, lowered)


def test_a_hidden_state_that_nothing_reads_is_no_result() -> None:
    class Other(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.LSTM(5, 6)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            out, (_, state) = self.layer(x)
            return out[0], state

    model, inputs = Other().eval(), (sequence(3, 2, 5),)
    lowered = lower(model, inputs)
    results = [[step.output_id, *step.more_output_ids] for step in cells(graph_of(lowered))]
    assert [[index != NO_VALUE for index in ids] for ids in results] == [[True, True], [True, True], [False, True]]
    check(model, inputs, lowered)


class WrittenGru(nn.Module):
    """A cell that is written out, which also returns the result of `also` for its gates."""

    def __init__(self, also: Callable[..., torch.Tensor] | None = None, order: str = "rzn") -> None:
        super().__init__()
        self.of_input, self.of_hidden, self.also, self.order = nn.Linear(5, 18), nn.Linear(6, 18), also, order

    def forward(self, x: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, ...]:
        i = dict(zip(self.order, self.of_input(x).chunk(3, 1), strict=True))
        o = dict(zip(self.order, self.of_hidden(h).chunk(3, 1), strict=True))
        r, z = (i["r"] + o["r"]).sigmoid(), (o["z"] + i["z"]).sigmoid()
        n = (r * o["n"] + i["n"]).tanh()
        after = n + z * (h - n)
        return (after,) if self.also is None else (after, self.also(r, n, i))


def test_a_gru_cell_that_is_written_out_is_a_step() -> None:
    model, inputs = WrittenGru().eval(), CELL_INPUTS[:2]
    lowered = lower(model, inputs)
    assert len(cells(graph_of(lowered), StepKind.GRU_CELL)) == 1
    check(model, inputs, lowered)


NO_GRUS: dict[str, Callable[[], nn.Module]] = {
    "the candidate is read elsewhere": lambda: WrittenGru(lambda r, n, i: n.exp()),
    "a gate is read elsewhere": lambda: WrittenGru(lambda r, n, i: r.exp()),
    "a gate before its function is read elsewhere": lambda: WrittenGru(lambda r, n, i: i["z"].exp()),
    "gates in another order": lambda: WrittenGru(order="zrn"),
}


@pytest.mark.parametrize("kind", NO_GRUS)
def test_what_is_no_gru_stays_as_it_is(kind: str) -> None:
    model, inputs = NO_GRUS[kind]().eval(), CELL_INPUTS[:2]
    lowered = lower(model, inputs)
    graph_of(lowered, IDENTIFIER)
    check(model, inputs, lowered)


class LinearRows(nn.Module):
    """Matrix multiplications to which the exporter decomposes layers. The results of two have other rows than x."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(8, 6)), nn.Parameter(torch.randn(6))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        flat = x.view(6, 8)
        kept = torch.addmm(self.bias, flat, self.weight).view(2, 3, 6)
        other = torch.addmm(self.bias, flat * 2, self.weight).view(3, 2, 6)
        product = torch.mm(x.exp().view(6, 8), self.weight).view(2, 3, 6)
        turned = torch.mm(x.exp().view(6, 8), self.weight).view(3, 2, 6)
        return kept, other, product, turned


def test_layers_of_more_dimensions_are_not_flattened() -> None:
    model, inputs = LinearRows().eval(), (sequence(2, 3, 8),)
    lowered = lower(model, inputs)
    graph = graph_of(lowered, IDENTIFIER)
    shapes = {value.xvalue_union.id_out: value.xvalue_union.dims for value in graph.xvalues}
    layers = [node.xnode_union for node in graph.xnodes if type(node.xnode_union).__name__ == "XNNFullyConnected"]
    ranks = [(len(shapes[layer.input1_id]), len(shapes[layer.output_id])) for layer in layers]
    assert sorted(ranks) == [(2, 2), (2, 2), (3, 3), (3, 3)]
    check(model, inputs, lowered)
