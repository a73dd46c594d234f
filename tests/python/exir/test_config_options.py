# SPDX-License-Identifier: BSD-3-Clause
"""Every option of `EdgeCompileConfig` and `ExecutorchBackendConfig` has its documented effect."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

import pytest
import torch
from edge_cases import Function, targets
from torch._export.verifier import SpecViolationError
from torch.export import Dim, export

from sdk.exir import EdgeCompileConfig, ExecutorchBackendConfig, memory, to_edge
from sdk.exir._serialize._program import _get_extended_header, deserialize_pte_binary
from sdk.exir.backend.test.backend_with_compiler_demo import (  # noqa: F401  (defines the backend)
    BackendWithCompilerDemo,
)
from sdk.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.dynamic_shape import DynamicMemoryPlanningMode
from sdk.exir.error import ExportError, InternalError
from sdk.exir.passes import (
    ConstraintBasedSymShapeEvalPass,
    HintBasedSymShapeEvalPass,
    MemoryPlanningPass,
    ToOutVarPass,
)
from sdk.exir.passes.dim_order_ops_registry import lib as dim_order_ops  # noqa: F401  (registers the operators)
from sdk.exir.passes.propagate_device_config import PropagateDeviceConfig
from sdk.exir.passes.reinplace import DEFAULT_INPLACEABLE_OPS, reinplace_pass
from sdk.exir.schema import TensorDataLocation
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

edge = exir_ops.edge.aten
aten = torch.ops.aten
X = torch.arange(6.0).reshape(2, 3)


def lower(function, *args, dynamic_shapes=None, **options):
    module = function if isinstance(function, torch.nn.Module) else Function(function)
    return to_edge(export(module, args, dynamic_shapes=dynamic_shapes)).to_executorch(
        ExecutorchBackendConfig(**options)
    )


def kernels(manager):
    return {f"{o.name}.{o.overload}" for o in manager.executorch_program.execution_plan[0].operators}


def arena(manager):
    return manager.executorch_program.execution_plan[0].non_const_buffer_sizes


class Linear(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x) + 1


class Counter(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.ones(1))

    def forward(self, x):
        self.count.add_(1)
        return x + self.count


# --- EdgeCompileConfig


def test_check_ir_validity():
    """EDGE-06: a graph that is not valid is an error, or is accepted unchanged."""
    program = export(Function(torch.linalg.eigvals), (torch.ones(2, 2),))
    with pytest.raises(SpecViolationError):
        to_edge(program)
    edge_program = to_edge(program, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    assert edge_program.methods == {"forward"}


def test_skip_dim_order():
    """EDGE-06: with the option, operators that have a memory format stay as they are."""
    program = export(Function(lambda x: x.to(torch.float64).clone()), (X,))
    assert torch.ops.dim_order_ops._to_dim_order_copy.default in targets(to_edge(program).exported_program())
    plain = to_edge(program, compile_config=EdgeCompileConfig(_skip_dim_order=True)).exported_program()
    assert targets(plain) == [aten._to_copy.default, aten.clone.default]


def test_exception_list():
    """EDGE-06"""
    program = export(Function(torch.linalg.eig), (torch.eye(2),))
    with pytest.raises(SpecViolationError, match="is not Aten Canonical"):
        to_edge(program)
    op = next(
        t
        for t in targets(
            to_edge(program, compile_config=EdgeCompileConfig(_check_ir_validity=False)).exported_program()
        )
        if "eig" in str(t)
    )
    allowed = EdgeCompileConfig(_core_aten_ops_exception_list=[op])
    assert op in targets(to_edge(program, compile_config=allowed).exported_program())


def test_all_options_of_edge_are_tested():
    names = {f.name for f in dataclasses.fields(EdgeCompileConfig)}
    assert names == {"_check_ir_validity", "_skip_dim_order", "_core_aten_ops_exception_list", "preserve_ops"}


# --- ExecutorchBackendConfig


def test_passes():
    """ETPM-05, BD-05: passes run first, in order, and may emit operators that only a backend has."""
    seen = []
    lower(torch.relu, X, passes=[lambda gm: seen.append("first"), lambda gm: seen.append("second")])
    assert seen == ["first", "second"]


def test_memory_planning_pass():
    """ETPM-02: the option is one pass for all methods, or one for each method."""

    def is_planned(manager):
        plan = manager.executorch_program.execution_plan[0]
        return plan.values[plan.inputs[0]].val.allocation_info is not None

    assert is_planned(lower(torch.relu, X))
    assert not is_planned(lower(torch.relu, X, memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False)))
    program = export(Function(torch.relu), (X,))
    config = ExecutorchBackendConfig(
        memory_planning_pass={"a": MemoryPlanningPass(alignment=16), "b": MemoryPlanningPass(alignment=1024)}
    )
    plans = {
        p.name: p for p in to_edge({"a": program, "b": program}).to_executorch(config).executorch_program.execution_plan
    }
    assert plans["b"].non_const_buffer_sizes[1] > plans["a"].non_const_buffer_sizes[1]
    with pytest.raises(KeyError, match=r"a pass for the methods \['a'\], but none for 'b'"):
        to_edge({"a": program, "b": program}).to_executorch(
            ExecutorchBackendConfig(memory_planning_pass={"a": MemoryPlanningPass()})
        )


def test_propagate_device_config():
    """Without delegates on devices, there is nothing to copy (tests/python/exir/test_propagate_device.py tests
    them)."""
    plain = lower(torch.relu, X).buffer
    for config in (PropagateDeviceConfig(), PropagateDeviceConfig(True, True)):
        assert lower(torch.relu, X, propagate_device_config=config).buffer == plain
        assert lower(torch.relu, X, propagate_device_config={"forward": config}).buffer == plain


def test_to_out_var_pass():
    library = torch.library.Library("sdk_test_options", "DEF")
    library.define("same(Tensor x) -> Tensor")
    library.impl("same", lambda x: x.clone(), "CompositeExplicitAutograd")
    with pytest.raises(RuntimeError, match="Missing out variants"):
        lower(torch.ops.sdk_test_options.same, X)
    converted = []

    class Counted(ToOutVarPass):
        def call(self, graph_module):
            converted.append(graph_module)
            return super().call(graph_module)

    lower(torch.relu, X, to_out_var_pass=Counted())
    assert len(converted) == 1
    module = to_edge(export(Function(torch.ops.sdk_test_options.same), (X,))).exported_program().graph_module
    assert ToOutVarPass(ignore_to_out_var_failure=True)(module).graph_module is module


def test_dynamic_memory_planning_mode():
    lower(torch.relu, X, dynamic_memory_planning_mode=DynamicMemoryPlanningMode.UPPER_BOUND)
    with pytest.raises(ExportError, match=r"SYMBOLIC is not supported.*Use DynamicMemoryPlanningMode\.UPPER_BOUND"):
        lower(torch.relu, X, dynamic_memory_planning_mode=DynamicMemoryPlanningMode.SYMBOLIC)


def test_emit_stacktrace():
    without = lower(torch.relu, X).executorch_program.execution_plan[0].chains[0]
    chain = lower(torch.relu, X, emit_stacktrace=True).executorch_program.execution_plan[0].chains[0]
    assert not without.stacktrace
    assert any("zoo/function.py" in frame.filename for frames in chain.stacktrace for frame in frames.items)


def test_extract_delegate_segments():
    """ETPM-02: delegates' data is stored after the program, or inside of it."""
    manager = to_edge(export(Function(lambda x: x + x), (X,))).to_backend(AddMulPartitionerDemo())
    segments = manager.to_executorch()
    inline = manager.to_executorch(ExecutorchBackendConfig(extract_delegate_segments=False, delegate_alignment=256))
    payload = b"version:0#op:demo::aten.add"
    assert payload in segments.buffer and payload in inline.buffer
    plain = inline.buffer.index(payload)
    start = inline.buffer.rindex(b"\0", 0, plain) + 1
    assert segments.buffer.index(payload) > plain, "after the tables of the program"
    assert start % 256 == 0, "delegate_alignment is that of inline data"


def test_alignments():
    """The alignments of segments in the file, and of constants in their segment."""
    model = Linear()
    wide = lower(model, X, segment_alignment=4096, constant_tensor_alignment=512).buffer
    narrow = lower(model, X).buffer
    assert _get_extended_header(wide).segment_base_offset % 4096 == 0
    for tensor in (model.linear.weight.detach().t(), model.linear.bias.detach()):
        data = tensor.contiguous().numpy().tobytes()
        assert wide.index(data) % 512 == 0 and narrow.index(data) % 16 == 0
    got = [_load_for_executorch_from_buffer(buffer).forward((X,)) for buffer in (wide, narrow)]
    torch.testing.assert_close(got[0], got[1])
    torch.testing.assert_close(got[0][0], model(X).detach())


def test_sym_shape_eval_pass():
    """Memory is planned for the largest size, or for the example's; optionally by method."""
    shapes = ({0: Dim("n", min=1, max=100)},)
    bound = lower(torch.relu, torch.ones(4), dynamic_shapes=(shapes,))
    hint = lower(torch.relu, torch.ones(4), dynamic_shapes=(shapes,), sym_shape_eval_pass=HintBasedSymShapeEvalPass())
    assert sum(arena(bound)) >= 2 * 400 and sum(arena(hint)) < 100
    by_method = {"forward": ConstraintBasedSymShapeEvalPass()}
    assert arena(lower(torch.relu, torch.ones(4), dynamic_shapes=(shapes,), sym_shape_eval_pass=by_method)) == arena(
        bound
    )


def test_remove_view_copy():
    def function(x):
        return torch.relu((x * 2).view(6)) + 1

    assert aten.view_copy.out in targets(lower(function, X, remove_view_copy=False).exported_program())
    views = targets(lower(function, X).exported_program())
    assert memory.view in views and aten.view_copy.out not in views


def test_external_constants():
    everything = lower(Linear(), X, external_constants=True)
    named = lower(Linear(), X, external_constants=lambda node: "weights" if "weight" in node.name else None)
    assert set(everything._tensor_data) == {"_default_external_constant"}
    assert set(named._tensor_data) == {"weights"}
    locations = [
        v.val.extra_tensor_info.fully_qualified_name
        for v in named.executorch_program.execution_plan[0].values
        if getattr(getattr(v.val, "extra_tensor_info", None), "location", None) == TensorDataLocation.EXTERNAL
    ]
    assert locations == ["linear.weight"]


def test_external_mutable_weights():
    class Trained(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("scale", torch.ones(3))
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            with torch.no_grad():
                self.weight.mul_(2)
            return x * self.weight + self.scale

    manager = lower(Trained(), X, external_mutable_weights=True)
    assert len(manager._tensor_data) == 1


def test_emit_mutable_buffer_names():
    def names(manager):
        infos = [getattr(v.val, "extra_tensor_info", None) for v in manager.executorch_program.execution_plan[0].values]
        return {info.fully_qualified_name for info in infos if info is not None and info.fully_qualified_name}

    assert names(lower(Counter(), X, emit_mutable_buffer_names=True)) == {"count"}
    assert names(lower(Counter(), X)) == set()
    unplanned = MemoryPlanningPass(alloc_mutable_buffers=False)
    manager = lower(Counter(), X, emit_mutable_buffer_names=True, memory_planning_pass=unplanned)
    assert names(manager) == {"count"}
    with pytest.raises(InternalError, match="'count', which has neither memory"):
        lower(Counter(), X, memory_planning_pass=unplanned)


def test_do_quant_fusion_and_const_prop():
    """PAS-15: operators that depend on constants only are also folded."""

    class Folded(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("scale", torch.ones(3))

        def forward(self, x):
            return x + torch.sin(self.scale)

    assert "aten::sin.out" in kernels(lower(Folded(), X))
    assert "aten::sin.out" not in kernels(lower(Folded(), X, do_quant_fusion_and_const_prop=True))


def index_put(x, i, v):
    return torch.ops.aten.index_put(x * 2, [i], v)


PUT = (torch.zeros(4), torch.tensor([1, 3]), torch.tensor([5.0, 6.0]))


def test_run_reinplace_pass():
    """A value that nothing reads later is overwritten in place; the caller's input never is."""
    manager = lower(index_put, *PUT, run_reinplace_pass=True)
    assert "aten::index_put_." in kernels(manager)
    assert "aten::index_put.out" in kernels(lower(index_put, *PUT))
    assert "aten::index_put.out" in kernels(
        lower(lambda x, i, v: torch.ops.aten.index_put(x, [i], v), *PUT, run_reinplace_pass=True)
    )
    got = _load_for_executorch_from_buffer(manager.buffer).forward((torch.ones(4), *PUT[1:]))[0]
    assert got.tolist() == [2.0, 5.0, 2.0, 6.0]


def test_reinplace_extra_ops():
    manager = lower(
        lambda x: torch.relu(x + 1), X, run_reinplace_pass=True, reinplace_extra_ops=frozenset({edge.relu.default})
    )
    assert "aten::relu_." in kernels(manager)


def test_reinplace_keeps_what_is_read_later():
    def reinplaced(function):
        program = reinplace_pass(to_edge(export(Function(function), PUT)).exported_program())
        return aten.index_put_.default in targets(program)

    assert {edge.index_put.default} == DEFAULT_INPLACEABLE_OPS
    assert reinplaced(index_put)

    def read_later(x, i, v):
        y = x * 2
        return torch.ops.aten.index_put(y, [i], v), y + 1

    def through_a_view(x, i, v):
        y = x * 2
        z = y.view(2, 2)
        return torch.ops.aten.index_put(y, [i], v), z + 1

    def returned(x, i, v):
        y = x * 2
        return torch.ops.aten.index_put(y, [i], v), y

    assert not any(map(reinplaced, (read_later, through_a_view, returned)))


def test_reinplace_forms():
    """The error names the operator that has no suitable in-place form."""
    program = to_edge(export(Function(index_put), PUT)).exported_program()
    with pytest.raises(ValueError, match=r"aten\.mm\.default has no in-place form"):
        reinplace_pass(program, [edge.mm.default])
    with pytest.raises(ValueError, match="is not the in-place form of"):
        reinplace_pass(program, inplace_overrides={edge.add.Tensor: edge.sub_.Tensor})
    reinplace_pass(program, [], inplace_overrides={edge.mul.Tensor: edge.mul_.Tensor})
    assert aten.index_put_.default not in targets(program), "only the requested operators"


def test_enable_non_cpu_memory_planning():
    """Without other devices, both settings give the same plan."""
    assert arena(lower(torch.relu, X, enable_non_cpu_memory_planning=False)) == arena(lower(torch.relu, X))


def test_named_data():
    """The data is in the program under its names, aligned, and the program runs as without it."""
    data = {"notes": b"abc", "table": bytes(range(100, 200))}
    buffer = lower(torch.relu, X, named_data=data).buffer
    found = deserialize_pte_binary(buffer).named_data
    assert {key: bytes(found.buffers[entry.buffer_index]) for key, entry in found.pte_data.items()} == data
    assert buffer.find(data["table"]) % 16 == 0
    (result,) = _load_for_executorch_from_buffer(buffer).forward((X,))
    assert torch.equal(result, X)
    assert deserialize_pte_binary(lower(torch.relu, X).buffer).named_data is None


def test_all_options_of_the_backend_configuration_are_tested():
    """A call in this file uses each option."""
    calls = [node for node in ast.walk(ast.parse(Path(__file__).read_text())) if isinstance(node, ast.Call)]
    tested = {keyword.arg for call in calls for keyword in call.keywords}
    names = {f.name for f in dataclasses.fields(ExecutorchBackendConfig)}
    assert names - tested == set(), "an option without a test"
