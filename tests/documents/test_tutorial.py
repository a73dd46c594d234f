# SPDX-License-Identifier: BSD-3-Clause
"""The tutorial "Exporting to ExecuTorch": its snippets, in order, with the output that it shows.

The tutorial is for older versions of PyTorch. Where these differ, the test has code that runs today:
`torch.export.export` for `export_for_training`, and `torchao` for `torch.ao.quantization`.
"""

from __future__ import annotations

import pytest
import torch
from torch.export import Dim, ExportedProgram, export
from tutorial_models import Basic, Decode, Encode, Foo, LowerableModule, M, NotLowerableModule, SimpleConv

import sdk.exir as exir
from declared import quantizer
from sdk.exir import EdgeProgramManager, ExecutorchBackendConfig, ExecutorchProgramManager, to_edge
from sdk.exir.backend.backend_api import LoweredBackendModule, to_backend
from sdk.exir.backend.test.backend_with_compiler_demo import (  # noqa: F401  (defines the backend)
    BackendWithCompilerDemo,
)
from sdk.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass
from sdk.exir.passes import MemoryPlanningPass
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

CONV_ARGS = (torch.randn(1, 3, 256, 256),)
FOO_ARGS = (torch.randn(2, 2), torch.randn(2, 2), torch.randn(2, 2))


class ConvertReluToSigmoid(ExportPass):
    def call_operator(self, op, args, kwargs, meta):
        if op == exir_ops.edge.aten.relu.default:
            return super().call_operator(exir_ops.edge.aten.sigmoid.default, args, kwargs, meta)
        return super().call_operator(op, args, kwargs, meta)


def code(program: ExportedProgram) -> list[str]:
    """The lines of a printed program that compute something, without the notes on freed values."""
    lines = [line.strip().split(";")[0] for line in str(program).splitlines()]
    lines = [line for line in lines if not line.startswith("#")]
    return [line for line in lines if (" = " in line and "torch.nn.Module" not in line) or line.startswith("return ")]


def checked(program: ExportedProgram) -> torch.nn.Module:
    """The module of a program with the checks of shapes that the tutorial shows; newer versions generate guards."""
    return program.module(check_guards=False)


CONV = (
    'aten_convolution_default: "f32[1, 16, 256, 256]" = executorch_exir_dialects_edge__ops_aten_convolution_default('
    "x, p_conv_weight, p_conv_bias, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)"
)


def test_t01_export():
    """EXP-01, EXP-02, EXP-03, DIA-01, DIA-07"""
    aten_dialect: ExportedProgram = export(SimpleConv(), CONV_ARGS, strict=True)
    assert code(aten_dialect)[:3] == [
        'conv2d: "f32[1, 16, 256, 256]" = torch.ops.aten.conv2d.default(x, p_conv_weight, p_conv_bias, [1, 1], [1, 1])',
        'relu: "f32[1, 16, 256, 256]" = torch.ops.aten.relu.default(conv2d)',
        "return (relu,)",
    ]
    inputs = [(s.kind.name, s.arg.name, s.target) for s in aten_dialect.graph_signature.input_specs]
    assert inputs == [
        ("PARAMETER", "p_conv_weight", "conv.weight"),
        ("PARAMETER", "p_conv_bias", "conv.bias"),
        ("USER_INPUT", "x", None),
    ]
    assert [(s.kind.name, s.arg.name) for s in aten_dialect.graph_signature.output_specs] == [("USER_OUTPUT", "relu")]
    assert str(aten_dialect).rstrip().endswith("Range constraints: {}")
    for node in aten_dialect.graph.nodes:
        assert node.op != "call_module"
        assert node.op != "call_function" or not node.target._schema.is_mutable
    aten_dialect.graph.lint()


def test_t02_static_shapes():
    """EXP-04, EXP-05"""
    aten_dialect = export(Basic(), (torch.randn(3, 3), torch.randn(3, 3)), strict=True)
    torch.testing.assert_close(aten_dialect.module()(torch.ones(3, 3), torch.ones(3, 3)), torch.full((3, 3), 2.0))
    with pytest.raises(RuntimeError) as error:
        checked(aten_dialect)(torch.ones(3, 2), torch.ones(3, 2))
    assert str(error.value).startswith("Expected input at *args[0].shape[1] to be equal to 3, but got 2")


def test_t03_dynamic_shapes():
    """EXP-06, EXP-07, EXP-08: bounds hold in the exported program, and in ours, where the row's errors come from."""
    dim1_x = Dim("dim1_x", min=1, max=10)
    dynamic_shapes = {"x": {1: dim1_x}, "y": {1: dim1_x}}
    example_args = (torch.randn(3, 3), torch.randn(3, 3))
    aten_dialect = export(Basic(), example_args, dynamic_shapes=dynamic_shapes, strict=True)
    (symbol, bounds), *rest = aten_dialect.range_constraints.items()
    assert not rest and (bounds.lower, bounds.upper) == (1, 10)
    assert f'x: "f32[3, {symbol}]", y: "f32[3, {symbol}]"' in str(aten_dialect)
    for columns in (3, 2):
        result = aten_dialect.module()(torch.ones(3, columns), torch.ones(3, columns))
        torch.testing.assert_close(result, torch.full((3, columns), 2.0))
    with pytest.raises(RuntimeError, match=r"shape\[1\] to be <= 10, but got 15"):
        checked(aten_dialect)(torch.ones(3, 15), torch.ones(3, 15))
    with pytest.raises(RuntimeError, match=r"shape\[1\] to be equal to 3, but got 2"):
        checked(aten_dialect)(torch.ones(3, 3), torch.ones(3, 2))

    program = _load_for_executorch_from_buffer(to_edge(aten_dialect).to_executorch().buffer)
    torch.testing.assert_close(program.forward((torch.ones(3, 2), torch.ones(3, 2)))[0], torch.full((3, 2), 2.0))
    with pytest.raises(RuntimeError):
        program.forward((torch.ones(3, 15), torch.ones(3, 15)))


def test_automatic_dimensions():
    """EXP-09"""

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Linear(5, 4)
            self.second = torch.nn.Linear(4, 3)

        def forward(self, x, y):
            return self.second(self.first(x)) + y.sum()

    shapes = ({0: Dim.AUTO(min=1, max=4)}, {0: Dim.AUTO(min=3, max=5)})
    program = export(Model(), (torch.randn(2, 5), torch.randn(4, 2)), dynamic_shapes=shapes)
    assert {int(r.upper) for r in program.range_constraints.values()} == {4, 5}
    assert to_edge(program).exported_program().range_constraints == program.range_constraints


def test_t04_quantization():
    """EXP-10, EXP-11: capture, quantize, export again; then all the way down."""
    pt2e = pytest.importorskip("torchao.quantization.pt2e.quantize_pt2e")
    pre_autograd_aten_dialect = export(SimpleConv(), CONV_ARGS).module()
    targets = {n.target for n in pre_autograd_aten_dialect.graph.nodes}
    assert {torch.ops.aten.conv2d.default, torch.ops.aten.relu.default, "conv.weight", "conv.bias"} <= targets
    prepared_graph = pt2e.prepare_pt2e(pre_autograd_aten_dialect, quantizer())
    prepared_graph(*CONV_ARGS)
    converted_graph = pt2e.convert_pt2e(prepared_graph)
    aten_dialect = export(converted_graph, CONV_ARGS, strict=True)
    inputs = {s.arg.name: s.kind.name for s in aten_dialect.graph_signature.input_specs}
    scales = {"b__scale_0": "BUFFER", "b__zero_point_0": "BUFFER"}  # of the weight's channels
    assert inputs == {"p_conv_bias": "PARAMETER", "b__frozen_param0": "BUFFER", "x": "USER_INPUT"} | scales
    assert 'b__frozen_param0: "i8[16, 3, 3, 3]"' in str(aten_dialect)
    edge = to_edge(aten_dialect, compile_config=exir.EdgeCompileConfig(_check_ir_validity=False))
    torch.testing.assert_close(edge.exported_program().module()(*CONV_ARGS), converted_graph(*CONV_ARGS))


def test_t05_edge_dialect():
    """EDGE-01, EDGE-02, EDGE-03, EXP-14"""
    edge_program: EdgeProgramManager = to_edge(export(SimpleConv(), CONV_ARGS, strict=True))
    assert edge_program.methods == {"forward"}
    program = edge_program.exported_program()
    relu = "executorch_exir_dialects_edge__ops_aten_relu_default(aten_convolution_default)"
    assert code(program)[:3] == [
        CONV,
        f'aten_relu_default: "f32[1, 16, 256, 256]" = {relu}',
        "return (aten_relu_default,)",
    ]
    assert [s.arg.name for s in program.graph_signature.output_specs] == ["aten_relu_default"]


def test_t06_several_methods():
    """EDGE-04, DIA-02"""
    edge_program = to_edge(
        {
            "encode": export(Encode(), (torch.randn(1, 10),), strict=True),
            "decode": export(Decode(), (torch.randn(1, 5),), strict=True),
        }
    )
    assert edge_program.methods == {"encode", "decode"}
    op = "executorch_exir_dialects_edge__ops_aten_"
    for method, rows, columns in (("encode", 5, 10), ("decode", 10, 5)):
        assert code(edge_program.exported_program(method))[:4] == [
            f'aten_randn_default: "f32[{rows}, {columns}]" = {op}randn_default([{rows}, {columns}], '
            "device = device(type='cpu'), pin_memory = False)",
            f'aten_permute_copy_default: "f32[{columns}, {rows}]" = {op}permute_copy_default('
            "aten_randn_default, [1, 0])",
            f'aten_mm_default: "f32[1, {rows}]" = {op}mm_default(x, aten_permute_copy_default)',
            "return (aten_mm_default,)",
        ]


def test_t07_transform():
    """EDGE-10, EDGE-11, PAS-08, PAS-18"""
    edge_program = to_edge(export(SimpleConv(), CONV_ARGS, strict=True))
    transformed_edge_program = edge_program.transform((ConvertReluToSigmoid(),))
    sigmoid = "executorch_exir_dialects_edge__ops_aten_sigmoid_default(aten_convolution_default)"
    assert code(transformed_edge_program.exported_program())[:3] == [
        CONV,
        f'aten_sigmoid_default: "f32[1, 16, 256, 256]" = {sigmoid}',
        "return (aten_sigmoid_default,)",
    ]
    assert "sigmoid" not in str(edge_program.exported_program())


def lower_sin() -> LoweredBackendModule:
    edge_program = to_edge(export(LowerableModule(), (torch.ones(1),), strict=True))
    return to_backend("BackendWithCompilerDemo", edge_program.exported_program(), [])


def test_t08_whole_module(tmp_path):
    """DEL-01, DEL-02, DEL-05, DEL-07, DEL-08"""
    lowered_module = lower_sin()
    assert str(lowered_module) == "LoweredBackendModule()"
    assert lowered_module.backend_id == "BackendWithCompilerDemo"
    node = next(n for n in lowered_module.original_module.graph.nodes if n.op == "call_function")
    expected = "1version:0#op:demo::aten.sin.default, numel:1, dtype:torch.float32<debug_handle>{}#"
    assert lowered_module.processed_bytes == expected.format(node.meta["debug_handle"]).encode()
    assert code(lowered_module.original_module)[:2] == [
        'aten_sin_default: "f32[1]" = executorch_exir_dialects_edge__ops_aten_sin_default(x)',
        "return (aten_sin_default,)",
    ]
    save_path = tmp_path / "delegate.pte"
    with save_path.open("wb") as f:
        f.write(lowered_module.buffer())
    assert save_path.read_bytes()[4:8] == b"ET12"
    assert lowered_module.processed_bytes in save_path.read_bytes()


def test_t09_composed_module():
    """DEL-09, DEL-10, DIA-08"""
    lowered_module = lower_sin()

    class ComposedModule(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.non_lowerable = NotLowerableModule(torch.ones(1) * 0.3)
            self.lowerable = lowered_module

        def forward(self, x):
            a = self.lowerable(x)
            b = self.lowerable(a)
            ret = self.non_lowerable(a, b)
            return a, b, ret

    example_args = (torch.ones(1),)
    exported_program = to_edge(export(ComposedModule(), example_args, strict=True)).exported_program()
    calls = [n for n in exported_program.graph.nodes if n.op == "call_function"]
    assert [getattr(n.target, "__name__", str(n.target)) for n in calls if "getitem" not in n.name] == [
        "executorch_call_delegate",
        "executorch_call_delegate",
        "aten.add.Tensor",
        "aten.add.Tensor",
    ]
    assert {n.target for n in exported_program.graph.nodes if n.op == "get_attr"} == {"lowered_module_0"}
    inner = exported_program.graph_module.lowered_module_0
    assert inner.backend_id == lowered_module.backend_id
    assert inner.processed_bytes == lowered_module.processed_bytes
    assert code(inner.original_module) == code(lowered_module.original_module)
    a = torch.sin(torch.ones(1))
    b = torch.sin(a)
    torch.testing.assert_close(exported_program.module()(*example_args), (a, b, a + b + 0.3))


MM = "executorch_exir_dialects_edge__ops_aten_mm_default"
ADD = "executorch_exir_dialects_edge__ops_aten_add_Tensor"
SUB = "executorch_exir_dialects_edge__ops_aten_sub_Tensor"


def check_delegated(program: ExportedProgram) -> None:
    """The delegated program of the tutorial: mm and add, sub outside, mm and add."""
    call = "torch.ops.higher_order.executorch_call_delegate"
    lines = code(program)
    assert {f"lowered_module_{i} = self.lowered_module_{i}" for i in (0, 1)} <= set(lines)
    assert [line for line in lines if call in line or SUB in line] == [
        f"executorch_call_delegate_1 = {call}(lowered_module_1, a, x, b)",
        f'aten_sub_tensor: "f32[2, 2]" = {SUB}(getitem_1, a)',
        f"executorch_call_delegate = {call}(lowered_module_0, aten_sub_tensor, x, b)",
    ]
    assert "return (getitem,)" in lines
    first, second = program.graph_module.lowered_module_1, program.graph_module.lowered_module_0
    assert code(first.original_module)[:3] == [
        f'aten_mm_default: "f32[2, 2]" = {MM}(a, x)',
        f'aten_add_tensor: "f32[2, 2]" = {ADD}(aten_mm_default, b)',
        "return [aten_add_tensor]",
    ]
    assert code(second.original_module)[:3] == [
        f'aten_mm_default_1: "f32[2, 2]" = {MM}(aten_sub_tensor, x)',
        f'aten_add_tensor_1: "f32[2, 2]" = {ADD}(aten_mm_default_1, b)',
        "return [aten_add_tensor_1]",
    ]
    torch.testing.assert_close(program.module()(*FOO_ARGS), Foo()(*FOO_ARGS))


def test_t10_partition():
    """DEL-03, DEL-04, DEL-11, DEL-12"""
    exported_program = to_edge(export(Foo(), FOO_ARGS, strict=True)).exported_program()
    assert code(exported_program)[:6] == [
        f'aten_mm_default: "f32[2, 2]" = {MM}(a, x)',
        f'aten_add_tensor: "f32[2, 2]" = {ADD}(aten_mm_default, b)',
        f'aten_sub_tensor: "f32[2, 2]" = {SUB}(aten_add_tensor, a)',
        f'aten_mm_default_1: "f32[2, 2]" = {MM}(aten_sub_tensor, x)',
        f'aten_add_tensor_1: "f32[2, 2]" = {ADD}(aten_mm_default_1, b)',
        "return (aten_add_tensor_1,)",
    ]
    check_delegated(to_backend(exported_program, AddMulPartitionerDemo()))
    with pytest.raises(TypeError, match="takes a backend id, an ExportedProgram or"):
        to_backend(42)


def test_t11_partition_of_the_manager():
    """EDGE-12, DEL-01"""
    delegated_program = to_edge(export(Foo(), FOO_ARGS, strict=True)).to_backend(AddMulPartitionerDemo())
    check_delegated(delegated_program.exported_program())


def test_t12_to_executorch():
    """ETPM-01, ETPM-02, ETPM-03, ETPM-04, DIA-13"""
    edge_program = to_edge(export(Foo(), FOO_ARGS, strict=True))
    executorch_program: ExecutorchProgramManager = edge_program.to_executorch(
        ExecutorchBackendConfig(
            passes=[],  # User-defined passes
            memory_planning_pass=MemoryPlanningPass(),  # Default memory planning pass
        )
    )
    lines = code(executorch_program.exported_program())
    alloc = "executorch_exir_memory_alloc(((2, 2), torch.float32))"
    allocations = [line for line in lines if "memory_alloc" in line]
    names = ["alloc", "alloc_1", "alloc_2", "alloc_3", "alloc_4"]
    assert allocations == [f'{name}: "f32[2, 2]" = {alloc}' for name in names]
    assert [line for line in lines if ".out(" in line] == [
        'aten_mm_default: "f32[2, 2]" = torch.ops.aten.mm.out(a, x, out = alloc)',
        'aten_add_tensor: "f32[2, 2]" = torch.ops.aten.add.out(aten_mm_default, b, out = alloc_1)',
        'aten_sub_tensor: "f32[2, 2]" = torch.ops.aten.sub.out(aten_add_tensor, a, out = alloc_2)',
        'aten_mm_default_1: "f32[2, 2]" = torch.ops.aten.mm.out(aten_sub_tensor, x, out = alloc_3)',
        'aten_add_tensor_1: "f32[2, 2]" = torch.ops.aten.add.out(aten_mm_default_1, b, out = alloc_4)',
    ]


def test_t13_end_to_end(tmp_path):
    """EXP-13, ETPM-07, ETPM-09"""
    model, example_args = M(), (torch.randn(3, 4),)
    pre_autograd_aten_dialect = export(model, example_args).module()
    aten_dialect = export(pre_autograd_aten_dialect, example_args, strict=True)
    edge_program: exir.EdgeProgramManager = exir.to_edge(aten_dialect)
    executorch_program: exir.ExecutorchProgramManager = edge_program.to_executorch(
        ExecutorchBackendConfig(
            passes=[],  # User-defined passes
        )
    )
    with (tmp_path / "model.pte").open("wb") as file:
        file.write(executorch_program.buffer)
    program = _load_for_executorch_from_buffer((tmp_path / "model.pte").read_bytes())
    torch.testing.assert_close(program.forward(example_args)[0], model(*example_args).detach(), rtol=1e-5, atol=1e-6)
