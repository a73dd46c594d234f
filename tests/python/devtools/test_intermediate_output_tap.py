# SPDX-License-Identifier: BSD-3-Clause
"""Intermediate values as outputs."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import export

from declared import default
from sdk.devtools import intermediate_output_tap as taps
from sdk.devtools.intermediate_output_tap import FULL_TENSOR, STATS, StatReducer, select_by_op_type
from sdk.exir import to_edge, to_edge_transform_and_lower
from sdk.exir.backend.utils import get_delegates
from sdk.exir.dialects._ops import ops
from sdk.runtime import Runtime


def _partitioners() -> list[Any]:
    return [default().find("partitioner")()]


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.linear(x)) * 2


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.calls += 1
        for block in self.blocks:
            x = block(x)
        return x, x.sum()


INPUTS = (torch.linspace(-2, 2, 12).reshape(3, 4),)


def tapped(*rules: Any, **options: Any) -> tuple[torch.export.ExportedProgram, list[taps.TapSpec]]:
    torch.manual_seed(0)
    return taps.tap_intermediate_outputs_(export(Model().eval(), INPUTS), rules or None, **options)


def outputs(manager: Any) -> list[Any]:
    method = Runtime.get().load_program(manager.to_executorch().buffer).load_method("forward")
    assert method is not None
    return list(method.execute(list(INPUTS)))


def numbers(x: Tensor) -> list[float]:
    """The values of STATS, from their definitions."""
    x = x.float().flatten()
    finite = x.numel()
    absolute = x.abs()
    return [
        *(x.min(), x.max(), x.mean(), absolute.max(), absolute.mean(), x.std(correction=0)),
        *((x**2).mean().sqrt(), absolute.sum(), (x**2).sum().sqrt()),
        *(x.isnan().sum(), x.isinf().sum(), (x == 0).sum()),
        absolute.sort(descending=True).values[max(1, math.ceil(finite / 100)) - 1],
    ]


@pytest.mark.parametrize(
    "x",
    [
        torch.linspace(-3, 5, 250).reshape(2, 5, 25),
        torch.tensor([[0.0, -2.0], [1.0, 0.0]]),
        torch.tensor([1.0, float("inf"), 0.0]),
        torch.tensor([1.0, float("nan")]),
        torch.tensor(3.0),
        torch.arange(6).half(),
        torch.arange(-2, 4),
        torch.tensor([True, False]),
        torch.rand(1, 3, 4, 5).to(memory_format=torch.channels_last),
    ],
)
def test_statistics_in_eager_mode_and_in_a_program(x: Tensor) -> None:
    expected = torch.tensor([float(value) for value in numbers(x)])
    found = torch.ops.executorch_devtools.tap.Tensor(x, "STATS")
    assert len(STATS.fields) == 13
    torch.testing.assert_close(found, expected, equal_nan=True)

    class Double(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.logical_not() if x.dtype == torch.bool else x + x

    program, (spec,) = taps.tap_intermediate_outputs_(export(Double(), (x,)))
    assert spec.output_index == 1
    manager = to_edge(program)
    taps.strip_taps_(manager)
    method = Runtime.get().load_program(manager.to_executorch().buffer).load_method("forward")
    assert method is not None
    result, statistics = method.execute([x])
    assert torch.equal(result, Double()(x)) or bool(x.isnan().any())
    expected = torch.tensor([float(value) for value in numbers(Double()(x))])
    torch.testing.assert_close(statistics, expected, equal_nan=True)


def test_specs_and_outputs() -> None:
    program, specs = tapped(
        (select_by_op_type("aten.linear.default"), FULL_TENSOR), (select_by_op_type("relu.default"), "STATS")
    )
    assert [(s.op_target, s.module_path, s.module_class, s.reducer_name, s.output_index) for s in specs] == [
        ("aten.linear.default", "blocks.0.linear", "Linear", "FULL_TENSOR", 2),
        ("aten.relu.default", "blocks.0", "Block", "STATS", 3),
        ("aten.linear.default", "blocks.1.linear", "Linear", "FULL_TENSOR", 4),
        ("aten.relu.default", "blocks.1", "Block", "STATS", 5),
    ]
    assert specs[0].fields == () and specs[1].fields == STATS.fields and "torch.relu" in (specs[1].stack_trace or "")
    assert len(taps.find_tap_nodes(program.graph_module)) == 4
    torch.manual_seed(0)
    model = Model().eval()
    eager = program.module()(*INPUTS)
    first = model.blocks[0].linear(*INPUTS)
    torch.testing.assert_close(eager[2], first)
    torch.testing.assert_close(eager[:2], model(*INPUTS))
    for manager in (to_edge(program), to_edge_transform_and_lower(program, partitioner=_partitioners())):
        assert len(taps.find_tap_nodes(manager.exported_program().graph_module)) == 4
        taps.strip_taps_(manager)
        assert not taps.find_tap_nodes(manager.exported_program().graph_module)
        found = outputs(manager)
        assert len(found) == 6
        torch.testing.assert_close(found, list(eager), rtol=1e-4, atol=1e-5)


def test_a_table_of_a_backend() -> None:
    torch.manual_seed(1)
    model = Model().eval()
    blocks = taps.select_by_module_class("Block")
    table, specs = taps.tap_compare(model, INPUTS, _partitioners(), rules=(blocks, STATS))
    assert [spec.module_path for spec in specs] == ["blocks.0", "blocks.1"]
    assert list(table["op_target"]) == ["aten.mul.Tensor"] * 2
    expected = numbers(model.blocks[0](*INPUTS).detach())
    for name, value in zip(STATS.fields, expected, strict=True):
        assert table[f"aot_{name}"][0] == pytest.approx(float(value), rel=1e-5)
        assert table[f"rt_{name}"][0] == pytest.approx(float(value), rel=1e-4)
    table, _ = taps.tap_compare(model, INPUTS, rules=(blocks, FULL_TENSOR))
    assert list(table["aot_numel"]) == [12, 12] == list(table["rt_numel"]) and min(table["sqnr_db"]) > 100


def test_the_signal_to_noise_ratio() -> None:
    spec = taps.TapSpec("n", "aten.relu.default", 1, "FULL_TENSOR", ())
    table = taps.compare_aot_runtime_dataframe([spec], [None, torch.full((10,), 10.0)], [None, torch.full((10,), 11.0)])
    assert table["sqnr_db"][0] == pytest.approx(20)  # noise of a tenth of the signal


def test_own_reducers() -> None:
    def emit(graph: Any, node: Any) -> Any:
        result = graph.call_function(ops.edge.aten.neg.default, (node,))
        result.meta["val"] = node.meta["val"]
        return result

    negated = StatReducer("negated", (), emit, torch.neg)
    program, _ = tapped((select_by_op_type("linear.default"), negated), max_taps=1)
    eager = program.module()(*INPUTS)
    manager = to_edge(program)
    taps.strip_taps_(manager)
    torch.testing.assert_close(outputs(manager)[2], eager[2])
    torch.manual_seed(0)
    torch.testing.assert_close(eager[2], -Model().blocks[0].linear(*INPUTS))
    with pytest.raises(ValueError, match="another reducer of the name 'STATS'"):
        taps.get_reducer(StatReducer("STATS", (), emit, torch.neg))
    with pytest.raises(ValueError, match="'MEDIAN' is not known; known are FULL_TENSOR, STATS"):
        taps.get_reducer("MEDIAN")


def test_selectors() -> None:
    nodes = list(export(Model().eval(), INPUTS).graph.nodes)

    def selected(selector: taps.NodeSelector) -> list[str]:
        return [str(node.target) for node in nodes if selector(node)]

    linear, relu, mul = "aten.linear.default", "aten.relu.default", "aten.mul.Tensor"
    everything = selected(taps.select_all_call_function())
    assert linear in everything and len(everything) == len(selected(lambda node: node.op == "call_function"))
    assert linear not in selected(taps.select_all_call_function(exclude=(linear,)))
    assert selected(taps.select_by_module_path("blocks.1", output_only=False)) == [linear, relu, mul]
    assert selected(taps.select_by_module_path("blocks.*")) == [mul, mul]
    assert selected(taps.select_by_module_class("Block")) == [mul, mul]
    of_one = taps.select_by_module_path("blocks.0", output_only=False)
    assert selected(taps.select_all(of_one, taps.select_not(select_by_op_type(linear)))) == [relu, mul]
    assert selected(taps.select_any(select_by_op_type(relu), select_by_op_type(mul))) == [relu, mul] * 2
    assert selected(taps.select_any()) == [] and len(selected(taps.select_all())) == len(nodes)
    for select in (select_by_op_type, taps.select_by_module_path, taps.select_by_module_class):
        with pytest.raises(ValueError, match="expected at least one"):
            select()


def test_rules_that_select_nothing() -> None:
    with pytest.raises(ValueError, match="no rule selects a tensor"):
        tapped((select_by_op_type("aten.cos.default"), STATS))
    with pytest.warns(UserWarning, match="no rule selects a tensor"):
        _, specs = tapped((select_by_op_type("aten.cos.default"), STATS), error_on_empty=False)
    assert specs == []
    with pytest.raises(ValueError, match="at least one rule"):
        taps.tap_intermediate_outputs_(export(Model().eval(), INPUTS), [])
    with pytest.raises(ValueError, match="use FULL_TENSOR"):
        dim = torch.export.Dim("n", max=8)
        shapes = ({0: dim},)
        taps.tap_intermediate_outputs_(export(Block(), INPUTS, dynamic_shapes=shapes))


def test_a_delegate_ends_at_a_tap() -> None:
    program, _ = tapped((select_by_op_type("relu.default"), FULL_TENSOR), max_taps=1)
    manager = to_edge_transform_and_lower(program, partitioner=_partitioners())
    taps.strip_taps_(manager)
    assert len(get_delegates(manager.exported_program().graph)) >= 1
    torch.testing.assert_close(outputs(manager)[2], program.module()(*INPUTS)[2])
