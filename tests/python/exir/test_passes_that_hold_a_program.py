# SPDX-License-Identifier: BSD-3-Clause
"""Passes over a graph that were made with the program whose graph they change."""

from __future__ import annotations

import pytest
import torch
from torch.export import ExportedProgram, export
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult

from sdk.backends.transforms.utils import (
    create_constant_placeholder,
    create_mutable_buffer,
    delete_constant_placeholder,
)
from sdk.exir import to_edge
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

edge = exir_ops.edge.aten
X = (torch.arange(6, dtype=torch.float32).reshape(2, 3),)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2, 3) * 5)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x, y=None):
        self.calls.add_(1)
        return x + self.weight


class AddConstant:
    """x + y becomes x + y * constant."""

    def __init__(self, program: ExportedProgram, name: str, value: torch.Tensor) -> None:
        self.program, self.name, self.value = program, name, value

    def __call__(self, gm: GraphModule) -> PassResult:
        (add,) = [n for n in gm.graph.find_nodes(op="call_function", target=edge.add.Tensor) if n.args[0].name == "x"]
        with gm.graph.inserting_before(add.args[0]):
            constant = create_constant_placeholder(
                self.program, gm.graph, self.name, InputKind.CONSTANT_TENSOR, self.value
            )
        with gm.graph.inserting_before(add):
            scaled = gm.graph.call_function(edge.mul.Tensor, (add.args[1], constant))
        scaled.meta = dict(add.meta)
        add.update_arg(1, scaled)
        gm.recompile()
        return PassResult(gm, True)


class DropWeight:
    """x + weight becomes x + x."""

    def __init__(self, program: ExportedProgram) -> None:
        self.program = program

    def __call__(self, gm: GraphModule) -> PassResult:
        (weight,) = [node for node in gm.graph.nodes if node.name == "p_weight"]
        (x,) = [node for node in gm.graph.nodes if node.name == "x"]
        weight.replace_all_uses_with(x)
        delete_constant_placeholder(self.program, weight)
        gm.recompile()
        return PassResult(gm, True)


@pytest.fixture
def model() -> Model:
    return Model()


def specs(program: ExportedProgram) -> list[tuple[str, str]]:
    found = [(spec.arg.name, str(spec.target)) for spec in program.graph_signature.input_specs]
    assert [name for name, _ in found] == [node.name for node in program.graph.find_nodes(op="placeholder")]
    return found


def test_constants_that_passes_add(model: Model) -> None:
    manager = to_edge(export(model, X))
    program = manager.exported_program()
    before = specs(program)
    passes = [
        AddConstant(program, "first", torch.full((3,), 2.0)),
        ExportPass(),
        AddConstant(program, "second", torch.tensor([[3.0], [4.0]])),
    ]
    changed = manager.transform(passes)
    result = changed.exported_program()
    assert {target for _, target in specs(result)} == {target for _, target in before} | {"first", "second"}
    expected = X[0] + 5 * torch.tensor([[6.0], [8.0]])
    torch.testing.assert_close(result.module()(*X), expected)
    assert changed.to_executorch().buffer
    # The original program is unchanged.
    assert specs(program) == before and "first" not in program.constants
    torch.testing.assert_close(program.module()(*X), X[0] + 5)


def test_weights_that_passes_remove(model: Model) -> None:
    manager = to_edge(export(model, X))
    program = manager.exported_program()
    result = manager.transform([DropWeight(program), AddConstant(program, "scale", torch.full((3,), 2.0))])
    changed = result.exported_program()
    assert "weight" not in changed.state_dict and "weight" in program.state_dict
    torch.testing.assert_close(changed.module()(*X), X[0] * 3)
    torch.testing.assert_close(program.module()(*X), X[0] + 5)


def test_a_pass_that_fails_leaves_the_program(model: Model) -> None:
    manager = to_edge(export(model, X))
    program = manager.exported_program()
    before = specs(program)

    def fail(gm: GraphModule) -> PassResult:
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        manager.transform([AddConstant(program, "first", torch.ones(3)), fail])
    assert specs(program) == before and "first" not in program.constants


class Remember:
    """A pass that adds a buffer to its program and writes x + weight to it."""

    def __init__(self, program: ExportedProgram) -> None:
        self.program = program

    def __call__(self, gm: GraphModule) -> PassResult:
        assert self.program.graph_module is gm and self.program.graph is gm.graph
        add = next(n for n in gm.graph.find_nodes(op="call_function", target=edge.add.Tensor) if n.args[0].name == "x")
        buffer = create_mutable_buffer(self.program, "b_sums", torch.zeros(2, 3))
        output = gm.graph.output_node()
        output.args = (tuple(add if value is buffer else value for value in output.args[0]),)
        (spec,) = [spec for spec in self.program.graph_signature.output_specs if spec.target == "sums"]
        spec.arg.name = add.name
        gm.recompile()
        return PassResult(gm, True)


def test_a_buffer_that_a_pass_adds_to_the_graph(model: Model) -> None:
    manager = to_edge(export(model, X))
    held = manager.exported_program()
    before = [node.name for node in held.graph.nodes]
    changed = manager.transform([Remember(held)])
    assert changed.exported_program().graph_signature.buffers_to_mutate == {
        "aten_add_tensor": "calls",
        "aten_add_tensor_1": "sums",
    }
    (found,) = _load_for_executorch_from_buffer(changed.to_executorch().buffer).forward(X)
    torch.testing.assert_close(found, X[0] + 5)
    assert [node.name for node in held.graph.nodes] == before
    torch.testing.assert_close(held.module()(*X), X[0] + 5)


def test_the_held_program_is_whole_after_a_pass_that_fails(model: Model) -> None:
    def fail(gm: GraphModule) -> PassResult:
        gm.graph.erase_node(gm.graph.output_node())
        raise ValueError("refused")

    manager = to_edge(export(model, X))
    with pytest.raises(ValueError, match="refused"):
        manager.transform([fail])
    torch.testing.assert_close(manager.exported_program().module()(*X), X[0] + 5)
