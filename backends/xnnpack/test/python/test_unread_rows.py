# SPDX-License-Identifier: BSD-3-Clause
"""XNNPACK's delegates do not compute rows that are not read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from recurrent_steps import cells, check, graph_of, lower
from test_quantized import quantize
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram, export
from torch.fx import Node

from sampling import examples
from sdk.backends.xnnpack import unread_rows
from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import NODES, StepKind, XNNGraph
from sdk.backends.xnnpack.serialization.xnnpack_graph_serialize import IDENTIFIER
from sdk.backends.xnnpack.unread_rows import skip_unread_rows
from sdk.exir import EdgeProgramManager, to_edge_transform_and_lower
from sdk.exir.graph.programs import copy_program
from sdk.exir.lowered_backend_module import get_lowered_backend_modules
from zoo.vision import VisionTransformer

ROWS = torch.linspace(-4, 4, 2 * 5 * 12).sin().reshape(2, 5, 12)
HEADS = torch.linspace(-3, 5, 2 * 3 * 5 * 4).cos().reshape(2, 3, 5, 4)
IMAGE = torch.linspace(-2, 2, 3 * 8 * 8).sin().reshape(1, 3, 8, 8)


class Call(nn.Module):
    """A function as a module, with layers that it may call."""

    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.function = function
        self.linear, self.norm = nn.Linear(12, 7), nn.LayerNorm(12)
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.register_buffer("table", torch.linspace(-1, 1, 5 * 12).reshape(5, 12))

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.function(self, *inputs)


def delegated(lowered: EdgeProgramManager) -> ExportedProgram:
    """Returns the program of the only delegate before the backend changed it."""
    (module,) = get_lowered_backend_modules(lowered.exported_program().graph_module)
    return module.original_module


def names(program: ExportedProgram) -> list[str]:
    return [node.target.__name__ for node in program.graph.nodes if node.op == "call_function"]


def computed(program: ExportedProgram) -> int:
    """The number of elements of all results that are not parts of other results."""
    calls = [node for node in program.graph.nodes if node.op == "call_function"]
    values = [node.meta["val"] for node in calls if not node.target.__name__.startswith(("aten.sl", "aten.sel"))]
    return sum(value.numel() for value in values if isinstance(value, Tensor))


def without_unread(program: ExportedProgram) -> ExportedProgram:
    moved = copy_program(program)
    skip_unread_rows(moved)
    moved.graph.lint()
    return moved


def rows_of_linears(graph: XNNGraph) -> list[int]:
    """Returns the number of rows that each linear layer computes."""
    shapes = {}
    for value in graph.xvalues:
        tensor: Any = getattr(value.xvalue_union, "tensor_value", value.xvalue_union)
        shapes[tensor.id_out] = tensor.dims
    linear: Any = NODES["FullyConnected"]
    outputs = [node.xnode_union.output_id for node in graph.xnodes if isinstance(node.xnode_union, linear)]
    return [int(torch.Size(shapes[output][:-1]).numel()) for output in outputs]


def test_of_a_class_token_the_last_block_computes_one_row() -> None:
    model, image = VisionTransformer(), torch.linspace(-2, 2, 3 * 32 * 32).sin().reshape(1, 3, 32, 32)
    lowered = lower(model, (image,))
    # Four linear layers for each of two blocks: one for queries, keys and values together, the projection, two of the
    # MLP; then the classes. All keys and values of the last block are read.
    assert rows_of_linears(graph_of(lowered)) == [17, 17, 17, 17, 17, 1, 1, 1, 1]
    check(model, (image,), lowered)


def test_programs_for_the_original_have_it_inside_of_a_delegate() -> None:
    model = Call(lambda self, x: F.relu(self.linear(x))[:, 1])
    lowered = lower(model, (ROWS,), compat="1.4")
    assert rows_of_linears(graph_of(lowered, IDENTIFIER)) == [2]
    check(model, (ROWS,), lowered)


def test_of_logits_only_those_of_the_last_token_are_computed() -> None:
    model = Call(lambda self, x: self.linear(F.gelu(self.norm(x)))[:, -1])
    lowered = lower(model, (ROWS,))
    assert rows_of_linears(graph_of(lowered)) == [2]
    check(model, (ROWS,), lowered)


def test_parts_of_parts_follow() -> None:
    model = Call(lambda self, x: self.linear(x)[:, 1:4][1:][:, :2])
    lowered = lower(model, (ROWS,))
    assert rows_of_linears(graph_of(lowered, IDENTIFIER)) == [2]
    check(model, (ROWS,), lowered)


def attend(x: Tensor, mask: Tensor | None = None, **options: Any) -> Tensor:
    return F.scaled_dot_product_attention(x, 0.5 - x, x * 2, attn_mask=mask, **options)


MASK = torch.linspace(-2, 2, 25).reshape(5, 5)
KEYS = MASK[:1].clone()

MOVED: dict[str, tuple[Callable[..., Tensor], Tensor]] = {
    "linear": (lambda self, x: self.linear(x)[:, 1:3], ROWS),
    "linear, of the batch": (lambda self, x: self.linear(x)[1:], ROWS),
    "a single row of a matrix": (lambda self, x: self.linear(x)[3], ROWS[0]),
    "layer norm": (lambda self, x: self.norm(x)[:, 2], ROWS),
    "softmax": (lambda self, x: x.softmax(-1)[:, 1:4], ROWS),
    "product of batches": (lambda self, x: (x @ x.transpose(1, 2))[:, -2:], ROWS),
    "product of matrices": (lambda self, x: (x @ x.T)[-2:], ROWS[0]),
    "attention": (lambda self, x: attend(x)[:, :, 0], HEADS),
    "attention with a mask": (lambda self, x: attend(x, MASK)[:, :, 1:3], HEADS),
    "attention with a mask for all rows": (lambda self, x: attend(x, KEYS)[:, :, 1:3], HEADS),
    "attention scaled": (lambda self, x: attend(x, scale=0.3)[:, :, 4:], HEADS),
    "a residual": (lambda self, x: (self.norm(x) + x)[:, 0], ROWS),
    "a table for each row": (lambda self, x: (self.norm(x) + self.table)[:, 3], ROWS),
    "a bias": (lambda self, x: (self.norm(x) + self.table[0])[:, 3], ROWS),
    "a number for each row": (lambda self, x: (self.norm(x) * x[:, :, :1])[:, 3], ROWS),
    "the same for each row": (lambda self, x: (self.norm(x) * x.mean(1, keepdim=True))[:, 3], ROWS),
    "permuted": (lambda self, x: self.linear(x).permute(2, 0, 1)[:, :, 1:2], ROWS),
    "transposed": (lambda self, x: self.linear(x).transpose(0, 1)[2], ROWS),
    "heads joined": (lambda self, x: attend(x).transpose(1, 2).flatten(2)[:, 0], HEADS),
    "another dimension": (lambda self, x: self.linear(x).unsqueeze(1)[:, :, 2], ROWS),
    "a dimension less": (lambda self, x: self.linear(x[:, None]).squeeze(1)[:, 2], ROWS),
    "selected before": (lambda self, x: self.linear(x)[0][1:3], ROWS),
    "attention with truth values": (lambda self, x: attend(x, MASK > 0)[:, :, 1:3], HEADS),
    "attention with a repeated mask": (lambda self, x: attend(x, x[:, :1, :1, :1].expand(2, 3, 5, 5))[:, :, 1], HEADS),
    "negative numbers": (lambda self, x: self.linear(x)[..., -4:-2, :], ROWS),
    "a part of a part": (lambda self, x: self.linear(x)[:, 1:4][1:][:, :2], ROWS),
    "repeated": (lambda self, x: (x.unsqueeze(1) * 2).expand(2, 3, 5, 12)[:, 1:3], ROWS),
    "two layers": (lambda self, x: self.linear(F.relu(self.norm(x)))[:, 1], ROWS),
}

LEFT: dict[str, tuple[Callable[..., Tensor], Tensor]] = {
    "results of a linear layer": (lambda self, x: self.linear(x)[:, :, 1:3], ROWS),
    "the dimension that is normalised": (lambda self, x: self.norm(x)[:, :, 1:3], ROWS),
    "the dimension that is a softmax": (lambda self, x: x.softmax(1)[:, 1:3], ROWS),
    "causal attention": (lambda self, x: attend(x, is_causal=True)[:, :, 1:3], HEADS),
    "heads of attention": (lambda self, x: attend(x)[:, 1], HEADS),
    "the columns of a product": (lambda self, x: (x @ x.transpose(1, 2))[:, :, 1:3], ROWS),
    "the same part twice": (lambda self, x: (lambda y: torch.cat([y[:, 1:2], y[:, :1]], 1))(self.linear(x)), ROWS),
    "of an argument": (lambda self, x: self.linear(x[:, 1:3]), ROWS),
    "of a constant": (lambda self, x: x[:, :2] + self.table[:2], ROWS),
    "several readers": (lambda self, x: (lambda y: y[:, :1] + y.exp())(self.linear(x)), ROWS),
    "all of it": (lambda self, x: self.linear(x)[:, 0:5], ROWS),
    "rows that are joined": (lambda self, x: self.linear(x).flatten(0, 1)[3:6], ROWS),
    "a dimension that would be squeezed": (lambda self, x: self.linear(x[None]).squeeze((0, 2))[:, 2:3], ROWS),
    "relu of a convolution": (lambda self, x: F.relu(self.conv(x))[:, :, 2:5], IMAGE),
    "what one operation computes": (lambda self, x: (x * 2)[:, 1:3], ROWS),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", MOVED)
def test_parts_are_read_before(name: str) -> None:
    function, x = MOVED[name]
    lowered = lower(Call(function), (x,))
    before = delegated(lowered)
    after = without_unread(before)
    assert computed(after) < computed(before)
    torch.testing.assert_close(after.module()(x), before.module()(x))
    check(Call(function), (x,), lowered)


@pytest.mark.parametrize("name", LEFT)
def test_other_parts_are_left(name: str) -> None:
    function, x = LEFT[name]
    before = delegated(lower(Call(function), (x,)))
    assert names(without_unread(before)) == names(before)


def test_every_other_place_is_left() -> None:
    """The backend does not lower slices with a step, so this test reads the graph of the whole model."""
    exported = export(Call(lambda self, x: x.softmax(-1)[:, 1::2]), (ROWS,))
    before = to_edge_transform_and_lower(exported).exported_program()
    assert names(without_unread(before)) == names(before)


@pytest.mark.parametrize("dim", [0, 1])
def test_dynamic_sizes_are_left(dim: int) -> None:
    """A model is left unchanged if a size is dynamic: that of the sliced dimension or of another one."""
    sizes = {dim: Dim("n", min=2 + 2 * dim, max=9)}
    program = export(Call(lambda self, x: self.linear(x)[:, 1:3]), (ROWS,), dynamic_shapes=((sizes,),))
    before = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    for module in get_lowered_backend_modules(before.exported_program().graph_module):
        assert "aten.linear.default" in names(module.original_module)
        assert names(without_unread(module.original_module)) == names(module.original_module)


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_quantised_layers_are_left(is_dynamic: bool) -> None:
    model = Call(lambda self, x: self.linear(x)[:, 0])
    lowered = lower(quantize(model, (ROWS,), is_dynamic=is_dynamic), (ROWS,))
    for module in get_lowered_backend_modules(lowered.exported_program().graph_module):
        assert names(without_unread(module.original_module)) == names(module.original_module)


@st.composite
def chains(draw: st.DrawFn) -> Callable[..., Tensor]:
    """A few calls one after the other, with a part of a dimension taken somewhere between them."""
    kinds = draw(
        st.lists(
            st.sampled_from(["norm", "gelu", "residual", "softmax", "swap", "heads", "part"]), min_size=2, max_size=7
        )
    )
    dims, starts = (
        draw(st.lists(st.integers(0, 2), min_size=9, max_size=9)),
        draw(st.lists(st.integers(0, 3), min_size=9, max_size=9)),
    )

    def run(self: Call, x: Tensor) -> Tensor:
        for i, kind in enumerate([*kinds, "part"]):
            if kind == "norm":
                x = F.layer_norm(x, x.shape[-1:], eps=0.5)
            elif kind == "gelu":
                x = F.gelu(x)
            elif kind == "residual":
                x = x + F.layer_norm(x, x.shape[-1:], eps=0.5)
            elif kind == "softmax":
                x = x.softmax(dims[i])
            elif kind == "swap":
                x = x.transpose(dims[i], (dims[i] + 1) % 3)
            elif kind == "heads":
                x = x.unsqueeze(1).permute(0, 2, 1, 3).flatten(2)
            elif x.shape[dims[i]] > starts[i]:
                x = x.narrow(dims[i], starts[i], min(2, x.shape[dims[i]] - starts[i]))
        return x

    return run


@settings(max_examples=examples(40), deadline=None)
@given(chains())
def test_any_chain_computes_the_same(function: Callable[..., Tensor]) -> None:
    check(Call(function), (ROWS,), lower(Call(function), (ROWS,)))


def test_chains_deeper_than_pythons_stack() -> None:
    def run(self: Call, x: Tensor) -> Tensor:
        x = self.linear(x)
        for _ in range(sys.getrecursionlimit()):
            x = x.abs()
        return x[:, 1]

    lowered = lower(Call(run), (ROWS,))
    assert rows_of_linears(graph_of(lowered, IDENTIFIER)) == [2]
    check(Call(run), (ROWS,), lowered)


LAST = torch.linspace(-1, 1, 2 * 4 * 3 * 12).reshape(2, 4, 3, 12).to(memory_format=torch.channels_last)


@pytest.mark.parametrize("is_first", [False, True])
def test_results_stay_in_the_usual_order_of_elements(is_first: bool) -> None:
    """The other operand is channels-last, and the sum would inherit this order."""
    y = LAST[:, :, :1, :7].contiguous(memory_format=torch.channels_last)

    def run(self: Call, x: Tensor, y: Tensor) -> Tensor:
        return (y + self.linear(x) if is_first else self.linear(x) + y)[:, :, 1:2]

    lowered = lower(Call(run), (LAST, y))
    assert rows_of_linears(graph_of(lowered, IDENTIFIER)) == [8]
    check(Call(run), (LAST, y), lowered)


def test_masks_that_layers_share_are_not_repeated_for_a_part() -> None:
    def run(self: Call, x: Tensor, mask: Tensor) -> Tensor:
        mask = mask.expand(2, 1, 5, 5)
        return attend(attend(x, mask), mask)[:, :, 0]

    mask = torch.linspace(-2, 2, 10).reshape(2, 1, 1, 5)
    lowered = lower(Call(run), (HEADS, mask))
    graph = graph_of(lowered)
    # The `x * 2` of each layer; repeating the mask for all rows would be a product with ones.
    products = [node for node in graph.xnodes if type(node.xnode_union).__name__ == "XNNMultiply"]
    assert len(products) == 2
    check(Call(run), (HEADS, mask), lowered)


class LstmStep(nn.Module):
    """An LSTM step of a batch, whose state a layer computes."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.cell, self.layer = nn.LSTMCell(6, 4), nn.Linear(3, 4)

    def forward(self, x: Tensor, hidden: Tensor, y: Tensor) -> Tensor:
        return self.cell(x, (hidden, self.layer(y)))[0][:1]


def test_cells_stay_one_step() -> None:
    inputs = (torch.linspace(-2, 2, 12).reshape(2, 6), torch.ones(2, 4), torch.linspace(-1, 1, 6).reshape(2, 3))
    lowered = lower(LstmStep(), inputs)
    assert len(cells(graph_of(lowered), StepKind.LSTM_CELL)) == 1
    check(LstmStep(), inputs, lowered)


def test_results_of_a_delegate_that_are_parts() -> None:
    class Parts(Call):
        def forward(self, x: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
            return self.norm(x)[:, 1], self.linear(x)[:, 2], self.linear(x * 2)[:, 2:], x[:, 2]

    lowered = lower(Parts(lambda: None), (ROWS,))
    assert sorted(rows_of_linears(graph_of(lowered))) == [2, 6]
    check(Parts(lambda: None), (ROWS,), lowered)


def squared(self: Call, x: Tensor) -> Tensor:
    for _ in range(100):
        x = x * x
    return x[:, 1]


def many_sums(self: Call, x: Tensor) -> Tensor:
    x = self.norm(x)
    for _ in range(100):
        x = x + self.table
    return x[:, 1]


def many_parts(self: Call, x: Tensor) -> Tensor:
    for _ in range(10):
        x = x.abs()
    return torch.stack([x[:, i % 5, :1] * i for i in range(100)]).sum(0)


@pytest.mark.parametrize("function", [squared, many_sums, many_parts])
def test_large_graphs_are_walked_once(function: Callable[..., Tensor], monkeypatch: pytest.MonkeyPatch) -> None:
    program = to_edge_transform_and_lower(export(Call(function), (ROWS,))).exported_program()
    seen, rule_of = 0, unread_rows._rule_of

    def count(node: Node, dim: int) -> Any:
        nonlocal seen
        seen += 1
        assert seen < 6 * len(program.graph.nodes)
        return rule_of(node, dim)

    monkeypatch.setattr(unread_rows, "_rule_of", count)
    skip_unread_rows(copy_program(program))
    assert seen > 0
