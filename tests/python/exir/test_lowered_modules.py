# SPDX-License-Identifier: BSD-3-Clause
"""Lowered modules as parts of other modules, and submodules made of nodes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import ExportedProgram, export
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import GraphModule
from torch.utils import _pytree as pytree

from sdk.exir import to_edge
from sdk.exir.backend.backend_api import to_backend
from sdk.exir.backend.test.backend_with_compiler_demo import BackendWithCompilerDemo
from sdk.exir.lowered_backend_module import create_exported_program_from_submodule, create_submodule_from_nodes

A, B, C = torch.tensor([1.0, 2.0]), torch.tensor([3.0, -1.0]), torch.tensor([0.5, 4.0])


class OfList(torch.nn.Module):
    def forward(self, xs):
        return xs[0] + xs[1] * xs[2]


class OfTuple(torch.nn.Module):
    def forward(self, pair, z):
        return (pair[0] * pair[1] + z,)


class OfDict(torch.nn.Module):
    def forward(self, x, more):
        return x * more["b"] + more["a"], x + more["b"]


class OfBoth(torch.nn.Module):
    def forward(self, xs, more):
        return xs[0] + more["k"] * xs[1]


class Around(torch.nn.Module):
    """A model that calls a lowered module."""

    def __init__(self, lowered: torch.nn.Module) -> None:
        super().__init__()
        self.lowered = lowered

    def forward(self, *args: Any) -> Any:
        found = self.lowered(*args)
        return found - 1 if isinstance(found, torch.Tensor) else [value - 1 for value in found]


@pytest.mark.sampled
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("model", "inputs"),
    [
        (OfList(), ([A, B, C],)),
        (OfTuple(), ((A, B), C)),
        (OfDict(), (A, {"a": B, "b": C})),
        (OfBoth(), ([A, B], {"k": C})),
    ],
    ids=lambda value: type(value).__name__,
)
def test_nested_inputs(model: torch.nn.Module, inputs: tuple[Any, ...], strict: bool) -> None:
    edge = to_edge(export(model, inputs)).exported_program()
    lowered = to_backend(BackendWithCompilerDemo.__name__, edge, [])
    expected = torch.utils._pytree.tree_leaves(Around(model)(*inputs))
    program = export(Around(lowered), inputs, strict=strict)
    torch.testing.assert_close(torch.utils._pytree.tree_leaves(program.module()(*inputs)), expected)
    manager = to_edge(program).to_executorch()
    assert [d.id for d in manager.executorch_program.execution_plan[0].delegates] == [BackendWithCompilerDemo.__name__]


def edge_program(function: Any, *inputs: torch.Tensor) -> ExportedProgram:
    class Model(torch.nn.Module):
        forward = staticmethod(function)

    return to_edge(export(Model(), inputs)).exported_program()


def test_a_submodule_with_several_results() -> None:
    def function(x, y):
        total = x + y
        product = total * y
        return product.sin(), (total - x).cos(), total

    gm = edge_program(function, A, B).graph_module
    wanted = ("aten.add.Tensor", "aten.mul.Tensor", "aten.sub.Tensor")
    nodes = [node for node in gm.graph.nodes if getattr(node.target, "__name__", "") in wanted]
    part, call = create_submodule_from_nodes(gm, nodes, "part")
    assert isinstance(part, GraphModule) and call.target == "fused_part"
    assert isinstance(part.graph.output_node().args[0], list) and isinstance(part(A, B), list)
    gm.graph.lint()
    gm.recompile()
    left = [getattr(node.target, "__name__", "") for node in gm.graph.nodes if node.op == "call_function"]
    assert left == ["getitem"] * 3 + ["aten.sin.default", "aten.cos.default"], "the part is not computed twice"
    assert [value.shape for value in call.meta["val"]] == [torch.Size([2])] * 3
    for found, expected in zip(gm(A, B), function(A, B), strict=True):
        torch.testing.assert_close(found, expected)


def test_a_submodule_with_one_result() -> None:
    gm = edge_program(lambda x, y: torch.sin(x + y) * y, A, B).graph_module
    node = next(node for node in gm.graph.nodes if node.op == "call_function")
    part, _ = create_submodule_from_nodes(gm, [node], "part")
    gm.recompile()
    assert isinstance(part(A, B), list)
    torch.testing.assert_close(gm(A, B)[0], torch.sin(A + B) * B)
    assert node not in gm.graph.nodes


@pytest.mark.parametrize("with_more", [False, True])
@pytest.mark.parametrize("kind", ["list", "tuple"])
def test_a_submodule_whose_result_is_a_list(kind: str, with_more: bool) -> None:
    """Results are the elements: all of them where it is the only result, so that the outputs are the operator's."""

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        total = x + y
        parts = torch.split(total, 2) if kind == "list" else torch.max(total, 0)
        return parts[0] / y + total.sin().mean() if with_more else parts[0] / y

    x, y = torch.randn(4, 2), torch.randn(2)
    gm = edge_program(function, x, y).graph_module
    starts = ("aten.split", "aten.max") + (("aten.add",) if with_more else ())
    calls = [node for node in gm.graph.nodes if node.op == "call_function"]
    nodes = [node for node in calls if getattr(node.target, "__name__", "").startswith(starts)][: 1 + with_more]
    part, call = create_submodule_from_nodes(gm, nodes, "part")
    gm.graph.lint()
    gm.recompile()
    assert all(isinstance(value, torch.Tensor) for value in call.meta["val"])
    assert len(part.graph.output_node().args[0]) == len(call.meta["val"]) == 2
    inputs = [x, y] if with_more else [x + y]
    assert [value.shape for value in part(*inputs)] == [value.shape for value in call.meta["val"]]
    torch.testing.assert_close(gm(x, y)[0], function(x, y))


class Written(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([2.0, -1.0]))
        self.state = torch.nn.Buffer(torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        product = x * self.weight
        self.state.add_(product)
        return product.sin()


@pytest.mark.parametrize("tagged", [True, False])
def test_a_program_of_a_submodule(tagged: bool) -> None:
    """The program owns the weights and buffers with its tag, and the writes to these. Everything else is an input or
    output."""
    whole = to_edge(export(Written(), (A,))).exported_program()
    names = ("aten.mul.Tensor", "aten.add.Tensor")
    nodes = [node for node in whole.graph.nodes if getattr(node.target, "__name__", "") in names]
    for node in whole.graph.nodes:
        if tagged and node.op == "placeholder" and node.name != "x":
            node.meta["delegation_tag"] = "part"
    part, call = create_submodule_from_nodes(whole.graph_module, nodes, "part")
    program, inputs, outputs = create_exported_program_from_submodule(part, whole, "part", call, False)
    kinds = [spec.kind for spec in program.graph_signature.input_specs]
    results = [spec.kind for spec in program.graph_signature.output_specs]
    if not tagged:
        assert kinds == [InputKind.USER_INPUT] * 3 and results == [OutputKind.USER_OUTPUT] * 2
        assert inputs == outputs == {} and not program.state_dict
        return
    assert kinds == [InputKind.PARAMETER, InputKind.BUFFER, InputKind.USER_INPUT]
    assert results == [OutputKind.BUFFER_MUTATION, OutputKind.USER_OUTPUT]
    assert {spec.target for spec in inputs.values()} == {"weight", "state"}
    assert [spec.target for spec in outputs.values()] == ["state"]
    assert program.state_dict.keys() == {"weight", "state"}
    module = program.module()
    for calls in (1, 2):
        torch.testing.assert_close(pytree.tree_leaves(module(A)), [A * torch.tensor([2.0, -1.0])])
        torch.testing.assert_close(module.state, calls * A * torch.tensor([2.0, -1.0]))
    items = {node.args[1]: list(node.users) for node in call.users}
    assert [user.op for user in items[0]] == ["output"], "the getitem nodes follow the new order"
