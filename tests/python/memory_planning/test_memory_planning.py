# SPDX-License-Identifier: BSD-3-Clause
"""Memory planning of graphs: lifetimes, algorithms, options of the pass, and the verifier."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sdk.exir import EdgeCompileConfig, EdgeProgramManager, ExecutorchBackendConfig, memory, to_edge
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.error import InternalError
from sdk.exir.lowered_backend_module import get_lowered_backend_modules
from sdk.exir.memory_planning import (
    MemoryAlgoResult,
    MemoryPlanningAlgorithmSuite,
    Verifier,
    _is_inplace_node,
    collect_specs_from_nodes,
    greedy,
    naive,
)
from sdk.exir.memory_planning._verifier import _shared_pairs
from sdk.exir.passes import MemoryPlanningPass
from sdk.exir.serde.serialize import deserialize, serialize
from sdk.exir.tensor import TensorSpec


class Chain(torch.nn.Module):
    def forward(self, x, y):
        a = x * y
        b = a.relu()
        c = b * 2.0 + a
        return c.sin() + y


INPUTS = (torch.ones(4, 6), torch.ones(4, 6))


def plan(model: torch.nn.Module, inputs: tuple, planner: MemoryPlanningPass | None = None):
    exported = torch.export.export(model.eval(), inputs)
    config = ExecutorchBackendConfig(memory_planning_pass=planner or MemoryPlanningPass())
    return to_edge(exported).to_executorch(config)


def graph_of(manager) -> torch.fx.GraphModule:
    return manager.exported_program().graph_module


def nodes(manager, target) -> list[torch.fx.Node]:
    return [node for node in graph_of(manager).graph.nodes if node.target == target]


def spec(size: int, first: int, last: int, mem_id: int | None = None) -> TensorSpec:
    result = TensorSpec(torch.int8, torch.Size([size]))
    result.lifetime, result.mem_id = [first, last], mem_id
    return result


def test_every_tensor_has_an_arena_and_an_offset() -> None:
    """MEM-01, MEM-02, MEM-12: the default pass places every tensor inside the arena, aligned."""
    manager = plan(Chain(), INPUTS)
    module = graph_of(manager)
    sizes = module.meta["non_const_buffer_sizes"]
    specs = list(collect_specs_from_nodes(module.graph.nodes))
    assert len(specs) >= 5
    for s in specs:
        assert s.mem_id == 1
        assert s.mem_offset % 16 == 0
        assert s.mem_offset + s.allocated_memory <= sizes[1]
    assert manager.executorch_program.execution_plan[0].non_const_buffer_sizes == sizes


def test_naive_is_the_sum_of_all_sizes_and_greedy_is_smaller() -> None:
    """MEM-05, MEM-06."""
    first = plan(Chain(), INPUTS, MemoryPlanningPass(MemoryPlanningAlgorithmSuite([naive])))
    total = sum(s.allocated_memory for s in collect_specs_from_nodes(graph_of(first).graph.nodes))
    assert graph_of(first).meta["non_const_buffer_sizes"] == [0, total]
    second = plan(Chain(), INPUTS, MemoryPlanningPass(greedy))
    # At most four tensors of 4 x 6 floats are needed at once: two inputs of an operator, its result, and y.
    assert graph_of(second).meta["non_const_buffer_sizes"][1] <= 4 * 96 + 16 < total


def test_custom_algorithm_is_called() -> None:
    """MEM-07: a function that returns sizes, or a `MemoryAlgoResult`."""
    calls = []

    def algorithm(alignment, specs, graph_module, graph_signature, extra_padding):
        calls.append((alignment, len(specs), extra_padding))
        return naive(alignment, specs, graph_module, graph_signature, extra_padding)

    plan(Chain(), INPUTS, MemoryPlanningPass(algorithm, alignment=64))
    assert calls[0][0] == 64
    assert calls[0][1] >= 5
    assert calls[0][2] == 0


class Padded(BackendDetails):
    """A backend that requests the bytes of padding that its compile spec names."""

    @staticmethod
    def preprocess(edge_program, compile_specs) -> PreprocessResult:
        return PreprocessResult(b"", memory_padding=int(compile_specs[0].value))


class PaddedPartitioner(Partitioner):
    """A delegate for each operator with a given name, and the padding for it."""

    def __init__(self, **padding: int) -> None:
        super().__init__()
        self.padding = padding

    def partition(self, exported_program) -> PartitionResult:
        tags = {}
        for module in exported_program.graph_module.modules():
            for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
                name = str(node.target).rpartition("aten.")[2].partition(".")[0]
                if node.op == "call_function" and name in self.padding:
                    node.meta["delegation_tag"] = f"{id(module)}_{node.name}"
                    specs = [CompileSpec("padding", str(self.padding[name]).encode())]
                    tags[f"{id(module)}_{node.name}"] = DelegationSpec("Padded", specs)
        return PartitionResult(exported_program, tags)


class Branches(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x.cos() + x, lambda x: x - 1, (x,))


def arena(model: torch.nn.Module, inputs: tuple, saved: bool = False, **padding: int) -> int:
    edge = to_edge(torch.export.export(model, inputs)).to_backend(PaddedPartitioner(**padding))
    program = edge.exported_program()
    if saved:
        program = deserialize(serialize(program))
        assert get_lowered_backend_modules(program.graph_module)
    return plan_of(program)[1]


def plan_of(program) -> list[int]:
    manager = EdgeProgramManager(program, {}, EdgeCompileConfig(_check_ir_validity=False))
    return manager.to_executorch().executorch_program.execution_plan[0].non_const_buffer_sizes


def test_arenas_end_with_the_padding_that_delegates_ask_for() -> None:
    """The largest padding of all delegates counts; also in branches, and in a program saved as .pt2."""
    without = arena(Chain(), INPUTS, relu=0, sin=0)
    assert arena(Chain(), INPUTS, relu=48, sin=16) == without + 48
    assert arena(Chain(), INPUTS, saved=True, relu=48, sin=16) == without + 48
    branch = arena(Branches(), (torch.ones(4, 6),), cos=0)
    assert arena(Branches(), (torch.ones(4, 6),), cos=32) == branch + 32
    with pytest.raises(ValueError, match=r"Padded.preprocess returned memory_padding=-8; expected a number of bytes"):
        arena(Chain(), INPUTS, relu=-8)


@pytest.mark.parametrize("alloc_input", [True, False])
@pytest.mark.parametrize("alloc_output", [True, False])
def test_inputs_and_outputs_are_planned_on_request(alloc_input: bool, alloc_output: bool) -> None:
    """MEM-08."""
    planner = MemoryPlanningPass(alloc_graph_input=alloc_input, alloc_graph_output=alloc_output)
    program = plan(Chain(), INPUTS, planner).executorch_program.execution_plan[0]
    for index in program.inputs:
        assert (program.values[index].val.allocation_info is not None) == alloc_input
    for index in program.outputs:
        assert (program.values[index].val.allocation_info is not None) == alloc_output


def test_custom_pools() -> None:
    """MEM-10, MEM-11: a subclass chooses arenas; `memory.alloc` nodes follow the operators."""

    class Pools(MemoryPlanningPass):
        def run(self, graph_module, graph_signature=None):
            for module in graph_module.modules():
                if not isinstance(module, torch.fx.GraphModule):
                    continue
                for node in module.graph.nodes:
                    if node.op == "placeholder" or node.target == torch.ops.aten.mul.out:
                        node.meta["spec"].mem_id = 1
                    elif node.target == torch.ops.aten.add.out:
                        node.meta["spec"].mem_id = 2
            return super().run(graph_module, graph_signature)

    manager = plan(Chain(), INPUTS, Pools(memory_planning_algo=greedy))
    for op, mem_id in ((torch.ops.aten.mul.out, 1), (torch.ops.aten.add.out, 2)):
        found = nodes(manager, op)
        assert found
        for node in found:
            assert node.meta["spec"].mem_id == mem_id
            assert node.kwargs["out"].target is memory.alloc
            assert node.kwargs["out"].meta["spec"].mem_id == mem_id
    sizes = manager.executorch_program.execution_plan[0].non_const_buffer_sizes
    assert len(sizes) == 3
    assert all(sizes[1:])


def test_branches_use_memory_that_the_parent_does_not_need() -> None:
    """Tensors of a branch never overlap tensors that the parent needs while the branch runs."""

    class Cond(torch.nn.Module):
        def forward(self, x, y):
            z = x + y
            (r,) = torch.cond(x.sum() > 0, lambda a, b: (a.sin() + b,), lambda a, b: (a.cos() * b * 2.0,), (z, y))
            return r * 3.0 + z

    module = graph_of(plan(Cond(), INPUTS))
    order = list(module.graph.nodes)
    (cond,) = [node for node in order if getattr(node.target, "__name__", "") == "cond"]
    index = order.index(cond)
    live = [s for s in collect_specs_from_nodes(order) if s.lifetime[0] <= index <= s.lifetime[1]]
    results = set(cond.meta["spec"])
    for branch in module.children():
        inner = list(collect_specs_from_nodes(branch.graph.nodes, ignore_graph_input=True))
        assert len(inner) >= 2
        output = {s for node in branch.graph.output_node().all_input_nodes for s in [node.meta["spec"]]}
        for s in inner:
            for outer in live:
                if not (s in output and outer in results):
                    assert not Verifier.storage_overlap(s, outer)
        Verifier(branch, False, True, True).verify_storage_reuse()


def test_state_lives_for_ever_and_is_never_overwritten() -> None:
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(8))

        def forward(self, x):
            self.count.add_(x)
            return (x * 2.0).sin() + self.count

    module = graph_of(plan(Counter(), (torch.ones(8),)))
    order = list(module.graph.nodes)
    (state,) = [node.meta["spec"] for node in order if node.op == "placeholder" and "count" in node.name]
    assert state.lifetime == [0, len(order) - 1]
    for s in collect_specs_from_nodes(order):
        assert s is state or not Verifier.storage_overlap(s, state)


def test_shared_state_has_the_same_place_in_all_methods() -> None:
    class Reader(torch.nn.Module):
        def __init__(self, write: bool):
            super().__init__()
            self.write = write
            self.register_buffer("count", torch.arange(5.0))

        def forward(self, x):
            if self.write:
                self.count.add_(x)
            return self.count * x

    methods = {name: torch.export.export(Reader(name == "set"), (torch.ones(5),)) for name in ("get", "set")}
    config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=True))
    manager = to_edge(methods).to_executorch(config)
    places = set()
    for plan_ in manager.executorch_program.execution_plan:
        assert plan_.non_const_buffer_sizes[2:] == [32]
        places |= {
            (v.val.allocation_info.memory_id, v.val.allocation_info.memory_offset)
            for v in plan_.values
            if getattr(v.val, "allocation_info", None) and v.val.allocation_info.memory_id == 2
        }
    assert places == {(2, 0)}


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9), st.integers(0, 5)), min_size=1, max_size=25))
@settings(deadline=None)
def test_algorithms_never_overlap_in_space_and_time(tensors: list[tuple[int, int, int]]) -> None:
    specs = [spec(size, first, first + length) for size, first, length in tensors]
    for algorithm in (greedy, naive):
        result = algorithm(16, set(specs), None, None, 0)
        assert isinstance(result, MemoryAlgoResult)
        for s, place in result.spec_dict.items():
            s.mem_id, s.mem_offset = place.mem_id, place.mem_offset
            assert place.mem_offset + s.allocated_memory <= result.bufsizes[1]
        for i, a in enumerate(specs):
            for b in specs[:i]:
                assert not (Verifier.lifetime_overlap(a, b) and Verifier.storage_overlap(a, b))
                a.mem_obj_id = b.mem_obj_id = None
        for s in specs:
            s.mem_id = None


@given(
    st.lists(
        st.tuples(st.integers(1, 2), st.integers(0, 40), st.integers(0, 9), st.integers(0, 9), st.integers(0, 5)),
        max_size=12,
    )
)
def test_pairs_that_share_bytes_are_those_of_a_comparison_of_all(places: list[tuple[int, int, int, int, int]]) -> None:
    specs = []
    for arena, offset, size, first, length in places:
        specs.append(spec(size, first, first + length, mem_id=arena))
        specs[-1].mem_offset = offset
    pairs = [(a, b) for i, a in enumerate(specs) for b in specs[:i] if Verifier.storage_overlap(a, b)]
    conflicts = [{id(a), id(b)} for a, b in pairs if Verifier.lifetime_overlap(a, b)]
    count, conflict = _shared_pairs(specs)
    assert count == len(pairs)
    assert conflict is None if not conflicts else {id(each) for each in conflict or ()} in conflicts


def test_algorithm_results() -> None:
    """Sizes by arena, with padding; memory ids that are set already are kept."""
    specs = [spec(20, 0, 2), spec(100, 1, 3), spec(50, 3, 4), spec(10, 4, 5), spec(30, 5, 6, mem_id=2)]
    assert greedy(16, set(specs), None, None, 0).bufsizes == [0, 176, 32]
    assert greedy(16, set(specs), None, None, 8).bufsizes == [0, 184, 40]
    assert naive(16, set(specs), None, None, 0).bufsizes == [0, 32 + 112 + 64 + 16, 32]
    assert MemoryPlanningAlgorithmSuite([naive, greedy])(16, set(specs), None, None, 0) == [0, 176, 32]
    assert MemoryPlanningAlgorithmSuite([naive])(16, set(specs), None, None, 24) == [0, 224 + 24, 32 + 24]
    assert specs[4].mem_id == 2


def test_verifier_finds_a_wrong_plan() -> None:
    manager = plan(Chain(), INPUTS)
    module = graph_of(manager)
    verifier = Verifier(module, True, True, True, manager.exported_program().graph_signature)
    assert verifier.verify_storage_reuse() > 0
    verifier.verify_graph_input_output()
    x, y = (node.meta["spec"] for node in module.graph.nodes if node.op == "placeholder" and node.name in ("x", "y"))
    x.mem_offset = y.mem_offset
    with pytest.raises(InternalError, match="needed at the same time"):
        verifier.verify_storage_reuse()
    assert verifier.verify_storage_reuse(allow_lifetime_and_storage_overlap=True) > 0
    with pytest.raises(InternalError, match="input"):
        Verifier(module, False, True, True).verify_graph_input_output()


def test_intervals() -> None:
    assert Verifier.has_overlap([0, 3], [3, 4])
    assert not Verifier.has_overlap([0, 3], [4, 5])
    a, b = spec(20, 0, 1, mem_id=1), spec(3, 1, 1, mem_id=1)
    a.mem_offset, b.mem_offset = 0, 20
    assert not Verifier.storage_overlap(a, b)
    b.mem_offset = 19
    assert Verifier.storage_overlap(a, b)
    assert Verifier.mem_obj_id_match(a, b)
    assert not Verifier.mem_obj_id_match(a, b, accept_both_none=False)


def test_in_place_operators_are_recognised() -> None:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    assert _is_inplace_node(graph.call_function(torch.ops.aten.copy_.default, (x, x)))
    assert not _is_inplace_node(graph.call_function(torch.ops.aten.add.Tensor, (x, x)))
    assert not _is_inplace_node(x)


@pytest.mark.parametrize("options", [{"alignment": 3}, {"share_mutable_buffers": True, "alloc_mutable_buffers": False}])
def test_options_that_make_no_sense_are_refused(options: dict) -> None:
    with pytest.raises(ValueError, match=r"alignment|alloc_mutable_buffers"):
        MemoryPlanningPass(**options)


def test_a_cache_that_methods_share_is_written_in_place() -> None:
    """The offset of a shared buffer is planned last; nevertheless, a write to a part of it is in place."""

    class Cache(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("keys", torch.zeros(8, 4))

        def forward(self, x, position):
            self.keys[position] = x
            return self.keys.sum(0)

    inputs = (torch.ones(1, 4), torch.tensor([2]))
    methods = {name: torch.export.export(Cache(), inputs) for name in ("prefill", "decode")}
    config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=True))
    manager = to_edge(methods).to_executorch(config)
    for plan_ in manager.executorch_program.execution_plan:
        names = [operator.name for operator in plan_.operators]
        assert "aten::index_put" in names
        assert "aten::copy_" not in names
        (write,) = [
            i.instr_args.args
            for i in plan_.chains[0].instructions
            if plan_.operators[i.instr_args.op_index].name == names[0]
        ]
        places = {plan_.values[index].val.allocation_info.memory_id for index in (write[0], write[-1])}
        assert places == {2}
