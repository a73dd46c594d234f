# SPDX-License-Identifier: BSD-3-Clause
"""Pass bases, pass managers and the passes that users call themselves."""

from __future__ import annotations

import subprocess
import sys

import edge_cases
import pytest
import torch
from torch.export import export

from sdk.exir import ExecutorchBackendConfig, to_edge
from sdk.exir.dialects._ops import bind_pattern_to_op
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.operator.convert import is_out_variant, to_out_variant
from sdk.exir.operator.util import gen_out_variant_schema
from sdk.exir.pass_base import ExportedProgramPassBase, ExportedProgramPassResult, ExportPass, PassResult
from sdk.exir.pass_manager import PassManager
from sdk.exir.passes.constant_prop_pass import constant_prop_pass
from sdk.exir.passes.cse_pass import CSEPass
from sdk.exir.program._program import _transform

edge = exir_ops.edge.aten


def _edge_program(function, *args):
    return to_edge(export(edge_cases.Function(function), args)).exported_program()


def _targets(graph_module):
    return [n.target for n in graph_module.graph.nodes if n.op == "call_function"]


class ReplaceAddWithMul(ExportPass):
    def call_operator(self, op, args, kwargs, meta):
        if op != edge.add.Tensor:
            return super().call_operator(op, args, kwargs, meta)
        return super().call_operator(edge.mul.Tensor, args, {}, meta)


def test_identity_pass_keeps_graph_and_metadata():
    """PAS-02"""
    program = _edge_program(lambda x, y: (x + y).relu(), torch.randn(2), torch.randn(2))
    result = ExportPass()(program.graph_module)
    before = {n.name: n.meta for n in program.graph.nodes if n.op == "call_function"}
    after = {n.name: n.meta for n in result.graph_module.graph.nodes if n.op == "call_function"}
    assert list(before) == list(after)
    for name, meta in before.items():
        assert after[name]["stack_trace"] == meta["stack_trace"]
        assert after[name]["val"].shape == meta["val"].shape


def test_one_to_none_pass():
    """PAS-06"""

    class RemoveRelu(ExportPass):
        def call_operator(self, op, args, kwargs, meta):
            return args[0] if op == edge.relu.default else super().call_operator(op, args, kwargs, meta)

    program = _edge_program(lambda x, y: (x + y).relu(), torch.randn(2), torch.randn(2))
    assert _targets(RemoveRelu()(program.graph_module).graph_module) == [edge.add.Tensor]


def test_passes_run_in_order_with_checks():
    """PAS-11, PAS-12, PAS-13"""

    def check_no_mul(graph_module):
        if edge.mul.Tensor in _targets(graph_module):
            raise ValueError("Target should not be mul!")

    program = _edge_program(lambda x, y: x + y, torch.randn(2), torch.randn(2))
    manager = PassManager(passes=[ReplaceAddWithMul()], run_checks_after_each_pass=True)
    assert _targets(manager(program.graph_module).graph_module) == [edge.mul.Tensor]
    manager.add_checks(check_no_mul)
    with pytest.raises(ValueError, match="Target should not be mul!"):
        manager(program.graph_module)
    lenient = PassManager([ReplaceAddWithMul()], run_checks_after_each_pass=True, suppress_check_failures=True)
    lenient.add_checks(check_no_mul)
    assert _targets(lenient(program.graph_module).graph_module) == [edge.mul.Tensor]


def test_failing_pass_is_named():
    class Broken(ExportPass):
        def call_operator(self, op, args, kwargs, meta):
            raise ValueError("boom")

    manager = to_edge(export(torch.nn.ReLU(), (torch.randn(2),)))
    with pytest.raises(ValueError, match="boom") as error:
        manager.transform([Broken()])
    text = "\n".join([str(error.value), *getattr(error.value, "__notes__", [])])
    assert "Broken" in text
    if sys.version_info >= (3, 11):
        assert "'forward'" in text


def test_backend_passes_run_in_to_executorch():
    """ETPM-05, PAS-18"""
    args = (torch.randn(2), torch.randn(2))
    manager = to_edge(export(edge_cases.Function(lambda x, y: x + y), args))
    program = manager.to_executorch(ExecutorchBackendConfig(passes=[ReplaceAddWithMul()]))
    assert torch.ops.aten.mul.out in _targets(program.exported_program().graph_module)
    assert _targets(manager.exported_program().graph_module) == [edge.add.Tensor]


def test_program_passes_may_change_weights():
    class Zero(ExportedProgramPassBase):
        def call(self, exported_program):
            exported_program.state_dict["weight"] = torch.nn.Parameter(torch.zeros(2, 2))
            return ExportedProgramPassResult(exported_program, True)

    program = to_edge(export(torch.nn.Linear(2, 2), (torch.randn(1, 2),))).exported_program()
    changed = _transform(program, Zero())
    assert changed.state_dict["weight"].abs().sum() == 0
    assert program.state_dict["weight"].abs().sum() > 0


def test_pass_that_changes_the_inputs_is_rejected():
    def add_input(graph_module):
        first = next(iter(graph_module.graph.nodes))
        with graph_module.graph.inserting_before(first):
            graph_module.graph.placeholder("extra")
        return PassResult(graph_module, True)

    with pytest.raises(ValueError, match="changed the number of inputs from 1 to 2"):
        to_edge(export(torch.nn.ReLU(), (torch.randn(2),))).transform([add_input])


def test_constants_are_folded():
    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(2, 3))

        def forward(self, x):
            return x + self.weight.t()

    args = (torch.randn(3, 2),)
    program = to_edge(export(Module(), args)).exported_program()
    folded = constant_prop_pass(program)
    assert _targets(folded.graph_module) == [edge.add.Tensor]
    (value,) = folded.constants.values()
    torch.testing.assert_close(value, program.state_dict["weight"].detach().t())
    assert "weight" in program.state_dict


def test_equal_calls_are_computed_once():
    program = _edge_program(lambda x: x.sin() * x.sin(), torch.randn(2))
    assert _targets(CSEPass()(program.graph_module).graph_module) == [edge.sin.default, edge.mul.Tensor]


@pytest.mark.parametrize(
    ("functional", "out", "names"),
    [
        (torch.ops.aten.add.Tensor, torch.ops.aten.add.out, ("out",)),
        (torch.ops.aten.mul.Scalar, torch.ops.aten.mul.Scalar_out, ("out",)),
        (torch.ops.aten.where.self, torch.ops.aten.where.self_out, ("out",)),
        (torch.ops.aten.arange.start_step, torch.ops.aten.arange.start_out, ("out",)),
        (torch.ops.aten.max.dim, torch.ops.aten.max.dim_max, ("max", "max_values")),
        (torch.ops.aten.native_layer_norm.default, torch.ops.aten.native_layer_norm.out, ("out0", "out1", "out2")),
        (torch.ops.aten.sum.dim_IntList, torch.ops.aten.sum.IntList_out, ("out",)),
    ],
)
def test_out_variants(functional, out, names):
    assert to_out_variant(functional) == (out, names)
    assert is_out_variant(out._schema.name, out._schema.overload_name)
    assert not is_out_variant(functional._schema.name, functional._schema.overload_name)


def test_out_variant_schemas():
    assert (
        gen_out_variant_schema("ns::op(Tensor a) -> Tensor") == "ns::op.out(Tensor a, *, Tensor(a!) out) -> Tensor(a!)"
    )
    with pytest.raises(ValueError, match="no out variant"):
        gen_out_variant_schema("ns::op(Tensor a) -> int")


def test_pattern_bound_to_an_operator():
    """BD-01, BD-02, BD-03"""
    library = torch.library.Library("sdk_test_patterns", "DEF")

    @bind_pattern_to_op(library, "add_relu(Tensor self, Tensor other) -> Tensor")
    def add_relu(x, y):
        return torch.ops.aten.relu.default(torch.ops.aten.add.Tensor(x, y))

    op = torch.ops.sdk_test_patterns.add_relu.default
    x, y = torch.randn(3), torch.randn(3)
    torch.testing.assert_close(op(x, y), torch.relu(x + y))
    assert _targets(_edge_program(lambda a, b: op(a, b), x, y).graph_module) == [edge.add.Tensor, edge.relu.default]


def test_import_is_cheap():
    """Importing the compiler loads nothing that takes long and that not every model needs."""
    code = (
        "import sys; from sdk.exir import to_edge, EdgeCompileConfig, ExecutorchBackendConfig; "
        "print(*(name for name in sys.argv[1:] if name in sys.modules))"
    )
    slow = [
        "torch._dynamo",
        "torch._inductor",
        "torch._export.serde",
        "torch.onnx",
        "torchao",
        "pandas",
        "sdk.backends",
    ]
    loaded = subprocess.run([sys.executable, "-c", code, *slow], capture_output=True, text=True, check=True).stdout
    assert loaded.split() == []
