# SPDX-License-Identifier: BSD-3-Clause
"""Emission of graphs to programs."""

from __future__ import annotations

import io

import pytest
import torch
from torch.utils import _pytree as pytree

from sdk.exir import ExecutorchBackendConfig, to_edge
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.delegate import executorch_call_delegate
from sdk.exir.emit import emit_program
from sdk.exir.error import ExportError
from sdk.exir.print_program import add_cursor_to_graph, inspect_node, pretty_print, print_program
from sdk.exir.schema import (
    Bool,
    DataLocation,
    DelegateCall,
    Double,
    ExecutionPlan,
    Int,
    IntList,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    Null,
    OptionalTensorList,
    String,
    Tensor,
    TensorDataLocation,
    TensorList,
    TensorShapeDynamism,
)
from sdk.exir.tensor import TensorSpec
from zoo.function import Function

X = torch.randn(4, 6)


def lower(model, inputs=(X,), constant_methods=None, dynamic_shapes=None, **config):
    if not isinstance(model, torch.nn.Module):
        model = Function(model)
    exported = torch.export.export(model.eval(), inputs, dynamic_shapes=dynamic_shapes)
    return to_edge(exported, constant_methods=constant_methods).to_executorch(ExecutorchBackendConfig(**config))


def plan_of(manager, name: str = "forward") -> ExecutionPlan:
    (plan,) = [plan for plan in manager.executorch_program.execution_plan if plan.name == name]
    return plan


def calls(plan: ExecutionPlan) -> list[tuple[str, list]]:
    """Kernel calls as operator and values of the arguments."""
    found = []
    for instruction in plan.chains[0].instructions:
        call = instruction.instr_args
        if isinstance(call, KernelCall):
            op = plan.operators[call.op_index]
            found.append((f"{op.name}.{op.overload}", [plan.values[index].val for index in call.args]))
    return found


def tensor_shape(value: Tensor) -> list[int]:
    assert isinstance(value, Tensor)
    return value.sizes


def test_kernel_call_has_the_arguments_of_the_schema_then_the_result() -> None:
    """ETPM-03: `add.out(self, other, *, alpha, out)` returns `out`."""
    plan = plan_of(lower(lambda x, y: x + y, (X, torch.randn(4, 6))))
    ((name, (a, b, alpha, out, result)),) = calls(plan)
    assert name == "aten::add.out"
    assert alpha == Int(1)
    assert out is result
    assert [plan.values[index].val for index in plan.inputs] == [a, b]
    assert plan.values[plan.outputs[0]].val is out


def test_several_results_are_returned_as_a_list() -> None:
    plan = plan_of(lower(lambda x: tuple(torch.max(x, 1))))
    ((name, args),) = calls(plan)
    call = plan.chains[0].instructions[0].instr_args
    assert name == "aten::max.dim_max"
    assert isinstance(args[-1], TensorList)
    assert args[-1].items == call.args[-3:-1] == plan.outputs


def test_a_list_of_results() -> None:
    plan = plan_of(lower(lambda x: list(x.split(2, 0))))
    ((name, args),) = calls(plan)
    assert "split" in name
    assert isinstance(args[-1], TensorList)
    assert args[-1].items == plan.outputs


def test_integer_lists_refer_to_values() -> None:
    plan = plan_of(lower(lambda x: x.permute(1, 0)))
    ((_, args),) = calls(plan)
    assert isinstance(args[1], IntList)
    assert [plan.values[index].val for index in args[1].items] == [Int(1), Int(0)]


def test_optional_tensors_and_none() -> None:
    plan = plan_of(lower(lambda x, i: x[:, i], (X, torch.tensor([1, 2]))))
    ((_, args),) = calls(plan)
    assert args[1] == OptionalTensorList([-1, plan.inputs[1]])
    plan = plan_of(lower(lambda x: x.sum()))
    assert any(isinstance(arg, Null) for arg in calls(plan)[0][1])


def test_equal_literals_are_one_value_and_true_is_not_one() -> None:
    plan = plan_of(lower(lambda x: (x.sum(1, keepdim=True) + x.sum(0, keepdim=True)).sum(1)))
    literals = [repr(value.val) for value in plan.values if not isinstance(value.val, Tensor)]
    assert len(literals) == len(set(literals))
    assert {repr(Bool(True)), repr(Int(1))} <= set(literals)


def test_outputs_of_every_kind() -> None:
    plan = plan_of(lower(lambda x: (x, 3, None, {"a": x.sin(), "b": 2.5}, True)))
    values = [plan.values[index].val for index in plan.outputs]
    assert plan.outputs[0] == plan.inputs[0]
    assert values[1:3] == [Int(3), Null()]
    assert tensor_shape(values[3]) == [4, 6]
    assert values[4:] == [Double(2.5), Bool(True)]
    tree = pytree.treespec_loads(plan.container_meta_type.encoded_out_str)
    assert pytree.tree_unflatten(list("abcdef"), tree) == ("a", "b", "c", {"a": "d", "b": "e"}, "f")


def test_equal_weights_are_stored_once() -> None:
    """Tied weights, and different tensors with the same bytes."""

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Parameter(torch.arange(6.0))
            self.b = self.a
            self.c = torch.nn.Parameter(torch.arange(6.0))

        def forward(self, x):
            return x * self.a + self.b - self.c

    program = lower(Tied(), (torch.ones(6),)).executorch_program
    stored = [buffer.storage for buffer in program.constant_buffer]
    assert stored[0] == b""
    assert stored.count(torch.arange(6.0).numpy().tobytes()) == 1


def test_channels_last_weights_keep_their_order() -> None:
    model = torch.nn.Conv2d(3, 8, 3, bias=False).to(memory_format=torch.channels_last)
    program = lower(model, (torch.randn(1, 3, 8, 8),)).executorch_program
    (weight,) = [v.val for v in program.execution_plan[0].values if getattr(v.val, "sizes", None) == [8, 3, 3, 3]]
    data = program.constant_buffer[weight.data_buffer_idx].storage
    assert data == model.weight.detach().permute(*weight.dim_order).contiguous().numpy().tobytes()


def test_mutable_buffers_start_with_their_values() -> None:
    """A buffer of zeros needs no data; any other has its initial value in the mutable data."""

    class State(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("zeros", torch.zeros(3))
            self.register_buffer("count", torch.arange(1.0, 4.0))

        def forward(self, x):
            self.zeros.add_(x)
            self.count.mul_(2.0)
            return self.zeros + self.count

    manager = lower(State(), (torch.ones(3),), emit_mutable_buffer_names=True)
    state = {
        v.val.extra_tensor_info.fully_qualified_name: v.val
        for v in plan_of(manager).values
        if isinstance(v.val, Tensor) and v.val.extra_tensor_info
    }
    assert set(state) == {"zeros", "count"}
    assert all(tensor.allocation_info for tensor in state.values())
    assert state["zeros"].data_buffer_idx == 0
    data = manager._emitter_output.mutable_data[state["count"].data_buffer_idx].storage
    assert data == torch.arange(1.0, 4.0).numpy().tobytes()


def test_buffers_of_zeros_are_marked_and_take_no_room() -> None:
    """Mutable buffers without data get a name: the runtime zeroes planned tensors that have a name and no data."""

    class Cache(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("cache", torch.zeros(64, 1024))
            self.register_buffer("count", torch.ones(1))

        def forward(self, x):
            self.cache.add_(x)
            self.count.add_(1.0)
            return self.cache.sum() + self.count

    manager = lower(Cache(), (torch.ones(1),))
    named = {
        v.val.extra_tensor_info.fully_qualified_name: v.val
        for v in plan_of(manager).values
        if isinstance(v.val, Tensor) and v.val.extra_tensor_info
    }
    assert set(named) == {"cache"}
    assert named["cache"].data_buffer_idx == 0
    assert named["cache"].allocation_info is not None
    assert named["cache"].extra_tensor_info.location == TensorDataLocation.SEGMENT
    assert len(manager.buffer) < 64 * 1024


def test_external_constants() -> None:
    manager = lower(torch.nn.Linear(6, 2), external_constants=True)
    external = [
        v.val.extra_tensor_info.fully_qualified_name
        for v in plan_of(manager).values
        if isinstance(v.val, Tensor)
        and v.val.extra_tensor_info
        and v.val.extra_tensor_info.location == TensorDataLocation.EXTERNAL
    ]
    output = manager._emitter_output
    (names,) = output.external_constant_map.values()
    assert set(names) == set(external) != set()
    assert len(output.external_constant_buffer) == len(set(names.values()))
    assert [buffer.storage for buffer in manager.executorch_program.constant_buffer] == [b""]


def test_constant_methods() -> None:
    values = {"n": 5, "f": 1.5, "flag": True, "text": "abc", "two": [1, 2.5], "t": torch.ones(2)}
    manager = lower(lambda x: x.sin(), constant_methods=values)
    expected = {"n": [Int(5)], "f": [Double(1.5)], "flag": [Bool(True)], "text": [String("abc")]}
    expected["two"] = [Int(1), Double(2.5)]
    for name, content in expected.items():
        plan = plan_of(manager, name)
        assert [plan.values[index].val for index in plan.outputs] == content
        assert plan.inputs == []
        assert plan.chains[0].instructions == []
    (index,) = plan_of(manager, "t").outputs
    tensor = plan_of(manager, "t").values[index].val
    assert manager.executorch_program.constant_buffer[tensor.data_buffer_idx].storage == torch.ones(2).numpy().tobytes()


def test_constant_method_of_an_unknown_type_is_refused() -> None:
    with pytest.raises(ExportError, match="returns a set"):
        lower(lambda x: x.sin(), constant_methods={"bad": {1, 2}})


def test_static_views_cost_no_instruction() -> None:
    plan = plan_of(lower(lambda x: (x.sin()).view(24).cos()))
    assert [name for name, _ in calls(plan)] == ["aten::sin.out", "aten::cos.out"]
    (sin_out, cos_in) = calls(plan)[0][1][-1], calls(plan)[1][1][0]
    assert sin_out.allocation_info == cos_in.allocation_info
    assert (tensor_shape(sin_out), tensor_shape(cos_in)) == ([4, 6], [24])


def test_dynamic_views_and_sizes_are_computed_at_run_time() -> None:
    batch, width = torch.export.Dim("batch", min=2, max=8), torch.export.Dim("width", min=1, max=6)
    shapes = {"args": ({0: batch, 1: width},)}
    plan = plan_of(
        lower(lambda x: x.sin().repeat(2, 1).view(x.shape[0] * 2, x.shape[1], 1).cos(), dynamic_shapes=shapes)
    )
    called = list(calls(plan))
    (x, first, rows), (_, second, columns) = [arguments for name, arguments in called if name == "aten::sym_size.int"]
    assert (tensor_shape(x), x.shape_dynamism) == ([8, 6], TensorShapeDynamism.DYNAMIC_BOUND)
    assert (first, second) == (Int(0), Int(1))
    found = dict(called)
    assert found["executorch_prim::mul.Scalar"][0] is rows
    base, size, view = found["executorch_prim::et_view.default"]
    assert (tensor_shape(base), tensor_shape(view)) == ([16, 6], [16, 6, 1])
    assert plan.values[size.items[0]].val is found["executorch_prim::mul.Scalar"][-1]
    assert plan.values[size.items[1]].val is columns


def test_the_only_computed_size_of_a_view_is_inferred_at_run_time() -> None:
    shapes = {"args": ({0: torch.export.Dim("batch", min=2, max=8)},)}
    plan = plan_of(lower(lambda x: x.sin().view(x.shape[0] * 6).cos(), dynamic_shapes=shapes))
    found = dict(calls(plan))
    assert found.keys().isdisjoint({"aten::sym_size.int", "executorch_prim::mul.Scalar"})
    base, size, view = found["executorch_prim::et_view.default"]
    assert (tensor_shape(base), tensor_shape(view)) == ([8, 6], [48])
    assert plan.values[size.items[0]].val == Int(-1)


class Cond(torch.nn.Module):
    def forward(self, x):
        (r,) = torch.cond(x.sum() > 0, lambda a: (a.sin() + 1.0,), lambda a: (a.cos(),), (x,))
        return r * x


def test_cond_jumps_over_the_branch_that_is_not_taken() -> None:
    plan = plan_of(lower(Cond()))
    instructions = [instruction.instr_args for instruction in plan.chains[0].instructions]
    jumps = [(at, call) for at, call in enumerate(instructions) if isinstance(call, JumpFalseCall)]
    moves = [(at, call) for at, call in enumerate(instructions) if isinstance(call, MoveCall)]
    (to_else, skip_then), (to_end, skip_else) = jumps
    assert plan.values[skip_then.cond_value_index].val.sizes == []
    assert plan.values[skip_else.cond_value_index].val == Bool(False)
    assert skip_then.destination_instruction == to_end + 1
    assert [at for at, _ in moves] == [to_end - 1, skip_else.destination_instruction - 1]
    assert len({move.move_to for _, move in moves}) == 1
    # Both branches' results have the memory of the moves' target, which the rest of the program reads.
    target = plan.values[moves[0][1].move_to].val
    assert all(plan.values[move.move_from].val.allocation_info == target.allocation_info for _, move in moves)
    assert to_else < to_end < len(instructions)


def test_stack_traces_are_aligned_with_instructions() -> None:
    chain = plan_of(lower(lambda x: x.sin().cos(), emit_stacktrace=True)).chains[0]
    assert len(chain.stacktrace) == len(chain.instructions) == 2
    assert any(frame.filename.endswith("zoo/function.py") for frame in chain.stacktrace[0].items)
    assert plan_of(lower(lambda x: x.sin())).chains[0].stacktrace is None


def test_debug_handles_of_instructions() -> None:
    """ETPM-13."""
    handles = lower(lambda x: x.sin().cos()).debug_handle_map["forward"]
    assert sorted(handles) == [0, 1]


def test_methods_come_in_the_order_of_their_names() -> None:
    exported = torch.export.export(Function(torch.sin), (X,))
    manager = to_edge({"second": exported, "first": exported}).to_executorch()
    assert [plan.name for plan in manager.executorch_program.execution_plan] == ["first", "second"]


class Lowered(torch.nn.Module):
    """Stands in for a module that a backend has compiled."""

    backend_id = "TestBackend"
    processed_bytes = b"compiled"
    compile_specs = (CompileSpec("level", b"3"),)
    meta = {"debug_handle_map": {7: (1,)}}  # noqa: RUF012


def test_delegate_call() -> None:
    """ETPM-14: inputs, then outputs; the payload as the backend made it."""
    exported = torch.export.export(Function(torch.sin), (X,))
    module = exported.graph_module
    (sin,) = [node for node in module.graph.nodes if node.op == "call_function"]
    x = sin.args[0]
    module.lowered = Lowered()
    spec = TensorSpec.from_tensor(torch.empty(4, 6))
    x.meta["spec"] = TensorSpec.from_tensor(torch.empty(4, 6))
    for at, place in enumerate((x.meta["spec"], spec)):
        place.mem_id, place.mem_offset = 1, 96 * at
    with module.graph.inserting_before(sin):
        lowered = module.graph.get_attr("lowered")
        call = module.graph.call_function(executorch_call_delegate, (lowered, x))
        call.meta["spec"] = (spec,)
        result = module.graph.call_function(torch.ops.aten.sin.default, ())
        result.target, result.args = __import__("operator").getitem, (call, 0)
    sin.replace_all_uses_with(result)
    module.graph.erase_node(sin)
    module.meta["non_const_buffer_sizes"] = [0, 192]
    output = emit_program(exported)
    plan = output.program.execution_plan[0]
    (instruction,) = plan.chains[0].instructions
    assert instruction.instr_args == DelegateCall(0, [*plan.inputs, *plan.outputs])
    (delegate,) = plan.delegates
    assert (delegate.id, delegate.processed.location) == ("TestBackend", DataLocation.INLINE)
    assert delegate.compile_specs == [CompileSpec("level", b"3")]
    assert output.program.backend_delegate_data[delegate.processed.index].data == b"compiled"
    assert output.method_to_delegate_debug_id_map == {
        "forward": {0: {"name": "TestBackend", "delegate_map": {7: (1,)}}}
    }
    assert output.instruction_id_to_num_outs_map == {"forward": {0: 1}}


def test_unplanned_programs_are_refused() -> None:
    with pytest.raises(ExportError, match="MemoryPlanningPass"):
        emit_program(torch.export.export(Function(torch.sin), (X,)))


def test_dumps_show_instructions_and_fields() -> None:
    """ETPM-08: a condensed dump and one with every field."""
    program = lower(Cond()).executorch_program
    short, full = io.StringIO(), io.StringIO()
    print_program(program, out=short)
    pretty_print(program, out=full)
    assert "aten::sin.out(" in short.getvalue()
    assert "if not" in short.getvalue()
    assert "destination_instruction=" in full.getvalue()
    assert "non_const_buffer_sizes=[0, " in full.getvalue()


def test_graph_dumps_point_at_the_node() -> None:
    graph = torch.export.export(Function(lambda x: x.sin().cos()), (X,)).graph
    (sin,) = [node for node in graph.nodes if "sin" in node.name]
    (marked,) = [line for line in add_cursor_to_graph(graph, sin).splitlines() if line.startswith("-->")]
    assert "aten.sin" in marked
    assert "input" in inspect_node(graph, sin)
