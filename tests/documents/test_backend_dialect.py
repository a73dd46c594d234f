# SPDX-License-Identifier: BSD-3-Clause
"""The page on the backend dialect: its snippets, completed so that they run."""

from __future__ import annotations

import operator

import pytest
import torch
from torch.export import Dim, export
from torch.fx import subgraph_rewriter
from torch.fx.passes.infra.pass_base import PassResult
from torch.library import Library

from sdk.exir import ExecutorchBackendConfig, to_edge
from sdk.exir.dialects._ops import bind_pattern_to_op
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass
from sdk.exir.passes._quant_patterns_and_replacements import _trace_and_lower_to_edge_ops
from sdk.exir.passes.executorch_prim_ops_registry import PYTHON_SYM_OPS
from sdk.exir.passes.quant_fusion_pass import QuantFusionPass, quant_fusion_and_const_prop_pass
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer
from zoo.function import Function

lib = Library("foo_namespace", "DEF")
q = torch.ops.quantized_decomposed
edge = exir_ops.edge.aten


@bind_pattern_to_op(lib, "add_relu(Tensor self, Tensor other) -> Tensor")
def pattern(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z = torch.ops.aten.add.Tensor(x, y)
    return torch.ops.aten.relu.default(z)


class AddReluFusionPass(ExportPass):
    def call(self, graph_module):
        def replacement(x, y):
            return torch.ops.foo_namespace.add_relu.default(x, y)

        subgraph_rewriter.replace_pattern(
            graph_module, _trace_and_lower_to_edge_ops(pattern), _trace_and_lower_to_edge_ops(replacement)
        )
        return PassResult(graph_module, True)


def lower(function, *args):
    return to_edge(export(Function(function), args)).exported_program()


def targets(graph_module):
    return [n.target for n in graph_module.graph.nodes if n.op == "call_function"]


ARGS = (torch.tensor([1.0, -2.0]), torch.tensor([0.5, 1.0]))


def test_backend_operators():
    """BD-01, BD-03, BD-04, BD-06, DIA-05, DIA-14"""
    torch.testing.assert_close(torch.ops.foo_namespace.add_relu.default(*ARGS), torch.relu(ARGS[0] + ARGS[1]))
    program = lower(lambda x, y: torch.ops.aten.relu.default(x + y), *ARGS)
    assert "executorch.exir.dialects.edge._ops.aten.add.Tensor" in str(program.graph)
    fused = AddReluFusionPass()(program.graph_module).graph_module
    assert targets(fused) == [exir_ops.edge.foo_namespace.add_relu.default]
    assert "executorch.exir.dialects.edge._ops.foo_namespace.add_relu.default" in str(fused.graph)
    torch.testing.assert_close(fused(*ARGS)[0], torch.relu(ARGS[0] + ARGS[1]))
    again = export(fused, ARGS).run_decompositions()
    assert targets(again.graph_module) == [torch.ops.aten.add.Tensor, torch.ops.aten.relu.default]


def test_a_pattern_for_a_defined_operator():
    """BD-02: only the name, if the library has the schema."""
    lib.define("mul_relu(Tensor self, Tensor other) -> Tensor")

    @bind_pattern_to_op(lib, "mul_relu")
    def mul_relu(x, y):
        return torch.relu(x * y)

    torch.testing.assert_close(torch.ops.foo_namespace.mul_relu(*ARGS), torch.relu(ARGS[0] * ARGS[1]))


def test_passes_of_the_configuration():
    """BD-05, ETPM-05, PAS-18"""
    lib.define("add_relu.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)")
    manager = to_edge(export(Function(lambda x, y: torch.relu(x + y)), ARGS))
    program = manager.to_executorch(ExecutorchBackendConfig(passes=[AddReluFusionPass()]))
    names = [o.name for o in program.executorch_program.execution_plan[0].operators]
    assert names == ["foo_namespace::add_relu"]


class Quantized(torch.nn.Module):
    def forward(self, x, y):
        x = q.quantize_per_tensor(x, 0.1, 3, -128, 127, torch.int8)
        y = q.quantize_per_tensor(y, 0.2, 0, -128, 127, torch.int8)
        x = q.dequantize_per_tensor(x, 0.1, 3, -128, 127, torch.int8)
        z = torch.relu(x + q.dequantize_per_tensor(y, 0.2, 0, -128, 127, torch.int8))
        z = q.quantize_per_tensor(z, 0.3, -5, -128, 127, torch.int8)
        return q.dequantize_per_tensor(z, 0.3, -5, -128, 127, torch.int8)


def test_quantised_operators_are_fused():
    """PAS-15, BD-18: dequantize - add - relu - quantize becomes one add, whose clamp computes the relu."""
    args = (torch.linspace(-9, 9, 40), torch.linspace(4, -4, 40))
    program = to_edge(export(Quantized(), args)).exported_program()
    fused = quant_fusion_and_const_prop_pass(program)
    names = [t.__name__.split(".")[1] for t in targets(fused.graph_module)]
    assert names == ["quantize_per_tensor", "quantize_per_tensor", "add", "dequantize_per_tensor"]
    torch.testing.assert_close(fused.module()(*args), Quantized()(*args))
    assert QuantFusionPass()(fused.graph_module).modified is False
    manager = to_edge(export(Quantized(), args))
    plain = manager.to_executorch().executorch_program.execution_plan[0].operators
    assert {f"{o.name}.{o.overload}" for o in plain} >= {
        "quantized_decomposed::quantize_per_tensor.out",
        "aten::add.out",
    }
    config = ExecutorchBackendConfig(do_quant_fusion_and_const_prop=True)
    fewer = manager.to_executorch(config).executorch_program.execution_plan[0].operators
    assert "quantized_decomposed::add.out" in {f"{o.name}.{o.overload}" for o in fewer}


def test_registered_quantised_operators():
    """BD-17, BD-19, BD-20: the operators equal the arithmetic that defines them."""
    a = torch.tensor([-128, 0, 5, 127], dtype=torch.int8)
    b = torch.tensor([3, -4, 100, 127], dtype=torch.int8)
    real = (a.double() - 1) * 0.5 + (b.double() + 2) * 0.25
    arguments = (a, 0.5, 1, -128, 127, b, 0.25, -2, -128, 127, 0.75, 4, -128, 127)
    want = ((real / 0.75).round() + 4).clamp(-128, 127)
    assert q.add(*arguments).tolist() == want.tolist()
    want = ((real.clamp(min=0) / 0.75).round() + 4).clamp(-128, 127)
    assert q.add_relu(*arguments).tolist() == want.tolist()
    want = ((((a.double() - 1) * 0.5 + 2.5) / 0.75).round() + 4).clamp(-128, 127)
    assert q.add.scalar(a, 0.5, 1, -128, 127, torch.int8, 2.5, 0.75, 4, -128, 127, torch.int8).tolist() == want.tolist()
    table = torch.tensor([[1, 2], [-3, 4]], dtype=torch.int8)
    scales, zeros = torch.tensor([0.5, 2.0]), torch.tensor([1.0, 0.0])
    got = q.embedding_byte(table, scales, zeros, -128, 127, torch.tensor([1, 0]))
    assert got.tolist() == [[-6.0, 8.0], [0.0, 0.5]]
    packed = torch.tensor([[0x9A]], dtype=torch.uint8)  # 9 - 8 = 1, then 0xA - 8 = 2
    assert q.embedding_4bit(packed, torch.tensor([2.0]), None, -8, 7, torch.tensor([0])).tolist() == [[2.0, 4.0]]


@pytest.mark.parametrize(
    ("row", "name", "function", "result"),
    [
        ("BD-08", "add", lambda n: n + 3, 7),
        ("BD-09", "mul", lambda n: n * 3, 12),
        ("BD-10", "sub", lambda n: n - 1, 3),
        ("BD-11", "floordiv", lambda n: (n * 3) // 2, 6),
        ("BD-15", "mod", lambda n: n % 3 + 2, 3),
        ("BD-16", "neg", lambda n: -n + 12, 8),
    ],
)
def test_arithmetic_on_sizes(row, name, function, result):
    """BD-08 to BD-11, BD-15, BD-16, PAS-16: the runtime computes sizes that differ from those of the export."""
    model = Function(lambda x: torch.full((function(x.shape[0]),), 1.0))
    program = export(model, (torch.ones(6),), dynamic_shapes=(({0: Dim("n", min=3, max=8)},),))
    manager = to_edge(program).to_executorch()
    operators = {f"{o.name}.{o.overload}" for o in manager.executorch_program.execution_plan[0].operators}
    assert any(o.startswith("executorch_prim::") for o in operators)
    loaded = _load_for_executorch_from_buffer(manager.buffer)
    assert loaded.forward((torch.ones(4),))[0].shape == (result,)
    scalar = getattr(torch.ops.executorch_prim, name).Scalar
    assert scalar(*((4,) if name == "neg" else (4, 3))) == getattr(operator, name)(*((4,) if name == "neg" else (4, 3)))


def test_comparisons_and_conversions_of_numbers():
    """BD-12, BD-13, BD-14"""
    prim = torch.ops.executorch_prim
    for function in (operator.gt, operator.lt, operator.ge, operator.le, operator.eq):
        op = PYTHON_SYM_OPS[function]
        assert [op(a, b) for a, b in ((1, 2), (2, 2), (3, 2))] == [function(a, b) for a, b in ((1, 2), (2, 2), (3, 2))]
    assert prim.truediv.Scalar(7, 2) == 3.5
    assert prim.sym_float.Scalar(3) == 3.0
