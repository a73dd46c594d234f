# SPDX-License-Identifier: BSD-3-Clause
"""Memory plans for processors with several memories: the algorithms, the pass and reports."""

from __future__ import annotations

import itertools
import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassBase, PassResult

import sdk.backends.cadence.aot.ops_registrations  # noqa: F401  (registers the operators)
from sdk.backends.cadence.aot.memory_constraints import ConstraintsGenPass, MemConstraints
from sdk.backends.cadence.aot.memory_planning_algo import (
    MemoryPlanningAlgo,
    MemoryPlanningState,
    get_aligned_offset,
)
from sdk.backends.cadence.aot.utils import MemoryConfig
from sdk.exir import ExecutorchProgramManager
from sdk.exir.memory_planning import collect_specs_from_nodes
from sdk.exir.passes import MemoryPlanningPass
from sdk.exir.tensor import TensorSpec

_logger = logging.getLogger(__name__)


def collect_specs_from_graph_module(
    graph_module: GraphModule, graph_signature: ExportGraphSignature, alloc_graph_input: bool, alloc_graph_output: bool
) -> Iterable[TensorSpec]:
    """Returns the tensors of a graph that the plan places, in the order of the graph."""
    return collect_specs_from_nodes(
        graph_module.graph.nodes,
        graph_signature,
        ignore_graph_input=not alloc_graph_input,
        ignore_graph_output=not alloc_graph_output,
    )


class _LargestFirst(MemoryPlanningAlgo):
    """Places the tensors from the largest to the smallest, each in the first memory that has room for it."""

    def find_offset(self, spec: TensorSpec, state: MemoryPlanningState, constraints: MemConstraints) -> bool:
        """Chooses an offset in the memory `spec.mem_id`. Returns whether there is room."""
        raise NotImplementedError

    def plan(
        self,
        specs: Iterable[TensorSpec],
        graph_module: GraphModule,
        graph_signature: ExportGraphSignature,
        state: MemoryPlanningState,
        placement_constraints: MemConstraints,
        extra_padding: int = 0,
    ) -> None:
        """Raises MemoryPlanningAlgoFailure for a tensor that fits into no memory."""
        for spec in sorted(specs, key=lambda spec: spec.allocated_memory, reverse=True):
            for mem_id in range(1, self.get_num_memories()):
                spec.mem_id, spec.mem_offset = mem_id, 0
                if self.memory_id_is_valid[mem_id] and self.find_offset(spec, state, placement_constraints):
                    state.place_spec(spec)
                    break
            else:
                spec.mem_id = spec.mem_offset = None
                raise self.failure(spec)


class PositionBasedGreedyWithHierarchy(_LargestFirst):
    """Places each tensor in the fastest memory with enough room, at the lowest free offset."""

    def find_offset(self, spec: TensorSpec, state: MemoryPlanningState, constraints: MemConstraints) -> bool:
        alignment = self.get_alignment(spec.mem_id)
        while self.is_valid_placement(spec, constraints):
            other = state.get_overlapping_spec(spec)
            if other is None:
                return True
            spec.mem_offset = get_aligned_offset(other.mem_offset + other.allocated_memory, alignment)
        return False


class GreedyWithHeuristic(_LargestFirst):
    """Places each tensor in the smallest sufficient gap between the tensors that are alive at the same time."""

    def find_offset(self, spec: TensorSpec, state: MemoryPlanningState, constraints: MemConstraints) -> bool:
        alignment = self.get_alignment(spec.mem_id)
        alive = [each for each in state.allocated_buffers[spec.mem_id] if _are_alive_together(spec, each)]
        best, smallest, end = None, float("inf"), 0
        for other in sorted(alive, key=lambda each: each.mem_offset):
            gap = other.mem_offset - end
            if spec.allocated_memory <= gap < smallest:
                best, smallest = end, gap
            end = max(end, get_aligned_offset(other.mem_offset + other.allocated_memory, alignment))
        spec.mem_offset = end if best is None else best
        return self.is_valid_placement(spec, constraints)


def _are_alive_together(first: TensorSpec, second: TensorSpec) -> bool:
    return first.lifetime[0] <= second.lifetime[1] and second.lifetime[0] <= first.lifetime[1]


def find_peak_memory_usages_per_memory(
    graph_module: GraphModule,
    graph_signature: ExportGraphSignature,
    alloc_graph_input: bool,
    alloc_graph_output: bool,
    mem_constraints: MemConstraints | None = None,
) -> list[int]:
    """Returns the size in bytes of each memory that a plan uses, from memory 1 on."""
    ends: defaultdict[int, int] = defaultdict(int)
    for spec in collect_specs_from_graph_module(graph_module, graph_signature, alloc_graph_input, alloc_graph_output):
        if mem_constraints is None or not mem_constraints.skipped_spec(spec):
            ends[spec.mem_id] = max(ends[spec.mem_id], spec.mem_offset + spec.allocated_memory)
    return [ends[mem_id] for mem_id in range(1, max(ends, default=0) + 1)]


def find_peak_memory_usage(
    graph_module: GraphModule,
    graph_signature: ExportGraphSignature,
    alloc_graph_input: bool,
    alloc_graph_output: bool,
    mem_constraints: MemConstraints | None = None,
) -> tuple[int, int]:
    """Returns the peak of the bytes in use over all memories, and the position of the node where it occurs."""
    changes = [0] * (len(graph_module.graph.nodes) + 1)
    for spec in collect_specs_from_graph_module(graph_module, graph_signature, alloc_graph_input, alloc_graph_output):
        skipped = mem_constraints is not None and mem_constraints.skipped_spec(spec)
        if spec.lifetime[0] is not None and not skipped:
            changes[spec.lifetime[0]] += spec.allocated_memory
            changes[spec.lifetime[1] + 1] -= spec.allocated_memory
    usage = list(itertools.accumulate(changes))
    peak = max(usage, default=0)
    return peak, usage.index(peak) if usage else 0


def print_memory_planning_info(
    executorch_prog: ExecutorchProgramManager,
    memory_config: MemoryConfig,
    opt_level: int,
    alloc_graph_input: bool,
    alloc_graph_output: bool,
    log_level: int = logging.INFO,
) -> None:
    """Logs the bytes that a program needs in each memory, and the peak over all of them."""
    program = executorch_prog.exported_program()
    what = (program.graph_module, program.graph_signature, alloc_graph_input, alloc_graph_output)
    lines = [f"{'memory':24} {'base address':>14} {'bytes':>14} {'used':>12}"]
    for at, used in enumerate(find_peak_memory_usages_per_memory(*what)):
        name = memory_config.memory_names[at] if memory_config.memory_names else str(at + 1)
        base = hex(memory_config.base_addrs[at]) if memory_config.base_addrs else ""
        lines.append(f"{name:24} {base:>14} {memory_config.memory_sizes[at]:14} {used:12}")
    peak, position = find_peak_memory_usage(*what)
    lines.append(f"Peak memory usage across all spaces: {peak} bytes, at node {position}")
    _logger.log(log_level, "\n%s", "\n".join(lines))


class SimplifyIdmaOpsPass(PassBase):
    """After planning, replaces the loads and stores of the DMA engine by copies. A wait whose argument and result share
    memory gets the same tensor for both, because other tensors of a call may not overlap."""

    def call(self, graph_module: GraphModule) -> PassResult:
        """Changes calls."""
        changed = False
        for target in (torch.ops.cadence.idma_load.out, torch.ops.cadence.idma_store.out):
            for node in graph_module.graph.find_nodes(op="call_function", target=target):
                node.target = torch.ops.cadence.idma_copy.out
                changed = True
        for node in graph_module.graph.find_nodes(op="call_function", target=torch.ops.cadence.idma_wait.out):
            source, out = node.args[0], node.kwargs["out"]
            if source is not out and None is not _place(source) == _place(node):
                node.update_kwarg("out", source)
                node.meta["spec"] = source.meta["spec"]
                if not out.users:
                    graph_module.graph.erase_node(out)
                changed = True
        if changed:
            graph_module.recompile()
        return PassResult(graph_module, changed)


def _place(node: Any) -> tuple[Any, ...] | None:
    """Returns the memory and the offset of a tensor, or None for a tensor that was not planned."""
    spec = node.meta.get("spec")
    return None if spec is None or spec.mem_id is None else (spec.mem_id, spec.mem_offset)


class CadenceMemoryPlanning:
    """The memory planning pass for a processor with several memories.

    Args:
        memory_config: The memories.
        opt_level: The optimisation level; see `EdgePassesConfig`.
        mem_algo: 0 for `PositionBasedGreedyWithHierarchy`, 1 for `GreedyWithHeuristic`.
        alloc_graph_input, alloc_graph_output: Whether the plan reserves memory for inputs and outputs.
        additional_constraint_gen_passes: Classes of passes that add constraints.
    """

    def __init__(
        self,
        memory_config: MemoryConfig,
        opt_level: int,
        mem_algo: int,
        alloc_graph_input: bool = True,
        alloc_graph_output: bool = True,
        additional_constraint_gen_passes: Sequence[ConstraintsGenPass] | None = None,
    ) -> None:
        self.memory_config = memory_config
        self.opt_level = opt_level
        self.alloc_graph_input = alloc_graph_input
        self.alloc_graph_output = alloc_graph_output
        algorithms = self.get_mem_algos(
            memory_config, opt_level, alloc_graph_input, alloc_graph_output, additional_constraint_gen_passes
        )
        if not 0 <= mem_algo < len(algorithms):
            raise ValueError(f"mem_algo: expected 0 to {len(algorithms) - 1}, found {mem_algo}")
        self.algo = algorithms[mem_algo]

    @staticmethod
    def get_mem_algos(
        memory_config: MemoryConfig,
        opt_level: int,
        alloc_graph_input: bool,
        alloc_graph_output: bool,
        additional_constraint_gen_passes: Sequence[ConstraintsGenPass] | None,
    ) -> list[MemoryPlanningAlgo]:
        """Returns an instance of each algorithm."""
        arguments = (memory_config, opt_level, alloc_graph_input, alloc_graph_output, additional_constraint_gen_passes)
        return [PositionBasedGreedyWithHierarchy(*arguments), GreedyWithHeuristic(*arguments)]

    def __call__(self, graph_module: GraphModule) -> PassResult:
        return self.run(graph_module)

    def run(self, graph_module: GraphModule, graph_signature: ExportGraphSignature | None = None) -> PassResult:
        """Plans a graph."""
        planning = MemoryPlanningPass(
            self.algo,
            allow_lifetime_and_storage_overlap=True,  # for tensors inside another tensor
            alloc_graph_input=self.alloc_graph_input,
            alloc_graph_output=self.alloc_graph_output,
        )
        planning.run(graph_module, graph_signature)
        SimplifyIdmaOpsPass()(graph_module)
        return PassResult(graph_module, True)
