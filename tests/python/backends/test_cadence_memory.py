# SPDX-License-Identifier: BSD-3-Clause
"""Memory plans for cadence: several memories, constraints, and copies whose tensors share bytes."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from cadence_models import model_and_inputs
from torch import Tensor, nn

from sdk.backends.cadence.aot import compiler
from sdk.backends.cadence.aot.memory_constraints import MemConstraints, get_relative_offset_of_slice
from sdk.backends.cadence.aot.memory_planning import (
    CadenceMemoryPlanning,
    find_peak_memory_usage,
    find_peak_memory_usages_per_memory,
)
from sdk.backends.cadence.aot.utils import MemoryConfig, MemoryPlanningAlgoFailure
from sdk.backends.test.graph_builder import GraphBuilder
from sdk.exir import ExecutorchBackendConfig
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.memory_planning import Verifier
from sdk.exir.passes.spec_prop_pass import SpecPropPass
from sdk.exir.tensor import TensorSpec
from sdk.runtime import Runtime

_aten = exir_ops.edge.aten


def _planned(config: MemoryConfig, mem_algo: int, **options: Any) -> torch.fx.GraphModule:
    lowered = compiler.export_to_cadence(*model_and_inputs("conv"))
    planning = CadenceMemoryPlanning(config, opt_level=1, mem_algo=mem_algo, **options)
    program = lowered.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    return program.exported_program()


@pytest.mark.parametrize("mem_algo", [0, 1])
def test_plans_use_the_fastest_memory_first(mem_algo: int) -> None:
    """The fast memory holds the tensors that fit; the others are in the second memory."""
    config = MemoryConfig([2048, 1 << 20], memory_alignments=[4, 16])
    program = _planned(config, mem_algo)
    what = (program.graph_module, program.graph_signature, True, True)
    used = find_peak_memory_usages_per_memory(*what)
    assert 0 < used[0] <= 2048 and 0 < used[1] <= 1 << 20
    peak, _ = find_peak_memory_usage(*what)
    assert max(used) <= peak + 16 * 40 and peak <= sum(used)
    alone = _planned(MemoryConfig([1 << 20]), mem_algo)
    (one,) = find_peak_memory_usages_per_memory(alone.graph_module, alone.graph_signature, True, True)
    assert one <= sum(used) + 2048


@pytest.mark.parametrize("mem_algo", [0, 1])
def test_plans_do_not_need_more_than_is_in_use(mem_algo: int) -> None:
    """From the largest tensor to the smallest, the small ones are placed above the large ones: the plan has 16 units.
    At most 6 + 6 + 2 units are in use at once; that is enough if the second small tensor lies below large ones."""
    unit, lifetimes = 64, [(6, 0, 1), (6, 1, 3), (2, 0, 4), (2, 4, 9), (6, 5, 6), (6, 6, 8)]
    specs = []
    for size, first, last in lifetimes:
        specs.append(TensorSpec(torch.uint8, torch.Size([size * unit])))
        specs[-1].lifetime = [first, last]
    algo = CadenceMemoryPlanning(MemoryConfig([1 << 16]), opt_level=1, mem_algo=mem_algo).algo
    sizes = algo(16, specs, torch.fx.GraphModule(nn.Module(), torch.fx.Graph()), None)
    assert sizes == [0, 14 * unit]
    assert max(spec.mem_offset + spec.allocated_memory for spec in specs) == 14 * unit
    for a, b in itertools.combinations(specs, 2):
        assert not (Verifier.lifetime_overlap(a, b) and Verifier.storage_overlap(a, b))


def test_a_memory_that_is_too_small_is_named() -> None:
    config = MemoryConfig([128, 1024], memory_names=["dtcm", "sram"])
    with pytest.raises(MemoryPlanningAlgoFailure, match=r"Cannot fit a tensor of \d+ bytes .*dtcm: 128, sram: 1024"):
        _planned(config, 0)
    with pytest.raises(ValueError, match="mem_algo: expected 0 to 1, found 2"):
        CadenceMemoryPlanning(config, opt_level=1, mem_algo=2)


def test_constraints_choose_memories() -> None:
    """Constraints can pin a tensor to a memory, or exclude a memory for it."""

    class Pin:
        def __init__(self, constraints: Any) -> None:
            self.constraints = constraints

        def __call__(self, module: torch.fx.GraphModule) -> None:
            nodes = [node for node in module.graph.nodes if node.op == "call_function" and "conv2d" in str(node.target)]
            self.constraints.add_absolute_placement_constraint(nodes[0], 2, 64)
            self.constraints.add_mem_id_to_blocklist(nodes[1].meta["spec"], 1)

    config = MemoryConfig([1 << 20, 1 << 20])
    program = _planned(config, 0, additional_constraint_gen_passes=[Pin])
    convs = [node.meta["spec"] for node in program.graph.nodes if "conv2d" in str(node.target)]
    assert (convs[0].mem_id, convs[0].mem_offset) == (2, 64)
    assert convs[1].mem_id == 2


class Copies(nn.Module):
    """Nested concatenations, slices of them, in-place operators, and a result that is a part of another result."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        joined = torch.cat((x * 2, y + 1), 0)
        twice = torch.cat((joined, torch.sigmoid(x)), 0)
        part = twice[1:3]
        return twice, torch.relu(part) - part, torch.relu(joined[0])


@pytest.mark.parametrize("mem_algo", [0, 1])
@pytest.mark.parametrize("opt_level", [0, 1, 2, 3])
def test_tensors_that_share_bytes_keep_their_values(opt_level: int, mem_algo: int) -> None:
    inputs = (torch.randn(4, 8), torch.randn(2, 8))
    expected = Copies()(*inputs)
    planned = compiler.export_to_executorch_gen_etrecord(Copies(), inputs, opt_level=opt_level, mem_algo=mem_algo)
    method = Runtime.get().load_program(planned.buffer).load_method("forward")
    for _ in range(2):
        for found, wanted in zip(method.execute(list(inputs)), expected, strict=True):
            torch.testing.assert_close(found, wanted)
    called = {each.name for each in planned.executorch_program.execution_plan[0].operators}
    assert not any(name.endswith("_nop") for name in called)
    assert ("aten::cat" in called) == (opt_level < 2)


def _planned_graph(builder: GraphBuilder, opt_level: int = 2, **options: Any) -> dict[str, Any]:
    """The nodes of a graph that was planned, by name."""
    module = SpecPropPass().call(builder.get_graph_module()).graph_module
    planned = CadenceMemoryPlanning(MemoryConfig([1 << 16]), opt_level, 0, **options)(module).graph_module
    return {node.name: node for node in planned.graph.nodes}


def _joined(builder: GraphBuilder, operands: list[Any], size: list[int], dim: int = 0) -> Any:
    out = builder.call_operator(_aten.full.default, (size, 0.0))
    return builder.call_operator(torch.ops.aten.cat.out, (operands, dim), {"out": out})


def test_operands_of_a_concatenation_lie_in_sequence() -> None:
    builder = GraphBuilder()
    x, y = (builder.placeholder(name, torch.ones(2, 6)) for name in "xy")
    parts = [builder.call_operator(_aten.neg.default, (each,)) for each in (x, y)]
    builder.output([_joined(builder, parts, [4, 6])])
    nodes = _planned_graph(builder)
    (cat,) = (node for node in nodes.values() if node.target == torch.ops.aten._cat_nop.out)
    offsets = [node.meta["spec"].mem_offset - cat.meta["spec"].mem_offset for node in cat.args[0]]
    assert offsets == [0, 48]


def test_copies_that_are_kept() -> None:
    """Concatenations that must copy: along an inner dimension, of one tensor twice, of inputs in the caller's memory,
    and at an unaligned address."""
    for operands, size, dim, options in (
        ((torch.ones(2, 6), torch.ones(2, 6)), [2, 12], 1, {}),
        ((torch.ones(2, 6),), [4, 6], 0, {}),
        ((torch.ones(2, 6), torch.ones(2, 6)), [4, 6], 0, {"alloc_graph_input": False}),
        ((torch.ones(3, 3), torch.ones(2, 3)), [5, 3], 0, {}),
    ):
        builder = GraphBuilder()
        inputs = [builder.placeholder(f"x{at}", each) for at, each in enumerate(operands)]
        if "alloc_graph_input" not in options:
            inputs = [builder.call_operator(_aten.neg.default, (each,)) for each in inputs]
        joined = _joined(builder, inputs * (2 if len(inputs) == 1 else 1), size, dim)
        builder.output([builder.call_operator(_aten.neg.default, (joined,))])
        assert any(node.target == torch.ops.aten.cat.out for node in _planned_graph(builder, **options).values())


def test_relative_constraints() -> None:
    builder = GraphBuilder()
    x = builder.placeholder("x", torch.ones(4, 6))
    part = builder.call_operator(_aten.slice_copy.Tensor, (x, 0, 1, 3))
    row = builder.call_operator(_aten.select_copy.int, (part, 0, -1))
    view = builder.call_operator(_aten.view_copy.default, (x, [24]))
    builder.output([part, row, view])
    module = SpecPropPass().call(builder.get_graph_module()).graph_module
    x, part, row, view, _ = module.graph.nodes
    assert (get_relative_offset_of_slice(part), get_relative_offset_of_slice(row)) == (24, 24)
    constraints = MemConstraints()
    constraints.add_relative_placement_constraint(part, row, 24, update_lifetime=False)
    constraints.add_relative_placement_constraint(x, part, 24, update_lifetime=False)
    info = constraints.get_relative_placement_source(row)
    assert info is not None and (info.source, info.offset) == (x, 48)
    constraints.add_relative_placement_constraint(x, view, update_lifetime=False)
    assert constraints.is_alias_of(view, x) and not constraints.is_alias_of(row, x)
    spec = x.meta["spec"]
    spec.mem_id, spec.mem_offset = 1, 100
    constraints.resolve_relative_loc_constraints(spec)
    assert row.meta["spec"].mem_offset == 148 and not constraints.relative_loc_constraints_exist()
    with pytest.raises(ValueError, match="expected one constraint on its place"):
        constraints.add_relative_placement_constraint(view, row, update_lifetime=False)
    with pytest.raises(ValueError, match=r"expected bytes 90 to 138 within the 96 bytes of x"):
        MemConstraints().add_relative_placement_constraint(x, part, 90)
    with pytest.raises(RuntimeError, match="when it has an absolute placement constraint"):
        constraints = MemConstraints()
        constraints.add_absolute_placement_constraint(part, 1, 16)
        constraints.add_relative_placement_constraint(x, part, 24)


def test_the_dma_engine_reads_and_writes_its_memory() -> None:
    class Moved(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            loaded = torch.ops.cadence.idma_wait(torch.ops.cadence.idma_load(x * 2))
            return torch.ops.cadence.idma_wait(torch.ops.cadence.idma_store(loaded + 1))

    x = torch.randn(3, 5)
    lowered = compiler.export_to_cadence(Moved(), (x,))
    planning = CadenceMemoryPlanning(MemoryConfig([1 << 10, 1 << 10]), opt_level=1, mem_algo=0)
    program = lowered.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    names = [each.name for each in program.executorch_program.execution_plan[0].operators]
    assert "cadence::idma_copy" in names and "cadence::idma_load" not in names
    loads = [node for node in program.exported_program().graph.nodes if "idma_copy" in str(node.target)]
    assert loads[0].meta["spec"].mem_id == 1 and loads[1].args[0].meta["spec"].mem_id == 1
    (found,) = Runtime.get().load_program(program.buffer).load_method("forward").execute([x])
    torch.testing.assert_close(found, x * 2 + 1)
