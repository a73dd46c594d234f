# SPDX-License-Identifier: BSD-3-Clause
"""constant_prop_pass: results that are returned, programs in ATen dialect, quantised weights."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.export import ExportedProgram, export
from torch.export.graph_signature import InputKind

from sdk.exir import to_edge
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.passes.constant_prop_pass import constant_prop_pass

X = (torch.arange(6, dtype=torch.float32).reshape(2, 3),)
aten, edge = torch.ops.aten, exir_ops.edge.aten


class Model(torch.nn.Module):
    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(6, dtype=torch.float32).reshape(3, 2) + 1)
        self.register_buffer("state", torch.ones(2, 3))
        self.function = function

    def forward(self, x):
        return self.function(self, x)


def in_aten(model: torch.nn.Module) -> ExportedProgram:
    return export(model, X).run_decompositions({})


def in_edge(model: torch.nn.Module) -> ExportedProgram:
    return to_edge(export(model, X)).exported_program()


def called(program: ExportedProgram) -> list[object]:
    return [node.target for node in program.graph.nodes if node.op == "call_function"]


both = pytest.mark.parametrize("dialect", [in_aten, in_edge])


@both
def test_results_are_constants(dialect: Callable[..., ExportedProgram]) -> None:
    model = Model(lambda self, x: x + (self.weight * 2).t() + self.weight.sum())
    program = dialect(model)
    folded = constant_prop_pass(program)
    assert called(folded) == [ops.add.Tensor for ops in (aten if dialect is in_aten else edge,) * 2]
    kinds = {spec.target: spec.kind for spec in folded.graph_signature.input_specs}
    assert kinds["_prop_tensor_constant0"] is kinds["_prop_tensor_constant1"] is InputKind.CONSTANT_TENSOR
    assert sorted(folded.constants) == ["_prop_tensor_constant0", "_prop_tensor_constant1"]
    assert all(spec.persistent for spec in folded.graph_signature.input_specs if spec.kind == InputKind.CONSTANT_TENSOR)
    assert "weight" not in folded.state_dict and "weight" in program.state_dict
    torch.testing.assert_close(folded.module()(*X), model(*X))
    again = constant_prop_pass(folded)
    torch.testing.assert_close(again.module()(*X), model(*X))


@both
def test_results_that_are_returned_keep_their_places(dialect: Callable[..., ExportedProgram]) -> None:
    def function(self, x):
        doubled = self.weight * 2
        return doubled, x + 1, self.weight.sum(), doubled, x + doubled.t()

    model = Model(function)
    folded = constant_prop_pass(dialect(model))
    inputs = {node for node in folded.graph.nodes if node.op == "placeholder"}
    assert not inputs.intersection(folded.graph.output_node().args[0])
    torch.testing.assert_close(folded.module()(*X), model(*X))
    if dialect is in_edge:
        return
    folded._validate()


@both
def test_slices_and_lists(dialect: Callable[..., ExportedProgram]) -> None:
    def function(self, x):
        parts = self.weight.split(1)
        sliced = torch.slice_copy(self.weight, 0, 0, 1) + self.weight[1:] + self.weight[::2]
        return torch.mm(x, self.weight) + parts[0] + parts[2].max(1).values + sliced

    model = Model(function)
    folded = constant_prop_pass(dialect(model))
    ops = aten if dialect is in_aten else edge
    assert set(called(folded)) == {ops.mm.default, ops.add.Tensor}, "the list is not computed either"
    torch.testing.assert_close(folded.module()(*X), model(*X))


def test_a_new_value_of_a_buffer(tmp_path) -> None:
    def function(self, x):
        self.state.copy_(self.weight.t() * 3)
        return x + 1

    folded = constant_prop_pass(in_edge(Model(function)))
    (mutation,) = folded.graph_signature.buffers_to_mutate
    assert mutation == folded.graph.output_node().args[0][0].name
    model = folded.module()
    model(*X)
    torch.testing.assert_close(model.state, (torch.arange(6.0).reshape(3, 2) + 1).t() * 3)


def test_dequantised_weights_are_larger() -> None:
    import torchao  # noqa: F401  (defines quantized_decomposed)

    def function(self, x):
        quantised = torch.ops.quantized_decomposed.quantize_per_tensor(self.weight, 0.1, 0, -128, 127, torch.int8)
        weight = torch.ops.quantized_decomposed.dequantize_per_tensor(quantised, 0.1, 0, -128, 127, torch.int8)
        return torch.mm(x, weight)

    model = Model(function)
    program = in_aten(model)
    assert called(constant_prop_pass(program)) == called(program)
    ops = torch.ops.quantized_decomposed
    folded = constant_prop_pass(program, custom_skip_targets={ops.dequantize_per_tensor.default})
    assert called(folded) == [ops.dequantize_per_tensor.default, aten.mm.default]
    assert folded.constants["_prop_tensor_constant0"].dtype is torch.int8
    torch.testing.assert_close(folded.module()(*X), model(*X))
    assert called(constant_prop_pass(program, custom_skip_targets=set())) == [aten.mm.default]
