# SPDX-License-Identifier: BSD-3-Clause
"""The base of algorithms for several memories: which tensors have been placed, and the order in which constraints are
handled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule

from sdk.backends.cadence.aot.memory_constraints import ConstraintsGenPass, GenerateMemConstraints, MemConstraints
from sdk.backends.cadence.aot.utils import MemoryConfig, MemoryPlanningAlgoFailure
from sdk.exir.memory_planning import MemoryAlgoResult, Verifier, greedy
from sdk.exir.tensor import TensorSpec


def get_aligned_offset(offset: int, alignment: int) -> int:
    """Rounds up to a multiple of the alignment."""
    return -(-offset // alignment) * alignment


class MemoryPlanningState:
    """The tensors that have been placed: `allocated_buffers` has the tensors of each memory, `bufsizes` the bytes that
    they need. Memories are numbered from 1."""

    def __init__(self, memory_config: MemoryConfig) -> None:
        alignments = memory_config.memory_alignments
        self.num_memories = memory_config.get_num_memories()
        if alignments is None or len(alignments) != self.num_memories - 1:
            raise ValueError(f"expected an alignment for each of {self.num_memories - 1} memories, found {alignments}")
        self.alignment = [1, *alignments]
        self.allocated_buffers: list[list[TensorSpec]] = [[] for _ in range(self.num_memories)]
        self.bufsizes = [0] * self.num_memories
        self._placed: set[TensorSpec] = set()

    def place_spec(self, spec: TensorSpec) -> None:
        """Records a tensor whose memory and offset are set. Raises MemoryError if it overlaps a tensor that is alive at
        the same time."""
        other = self.get_overlapping_spec(spec)
        if other is not None:
            raise MemoryError(
                f"memory {spec.mem_id}: {spec.allocated_memory} bytes at {spec.mem_offset} overlap "
                f"{other.allocated_memory} bytes at {other.mem_offset} that are in use at the same time"
            )
        self.allocated_buffers[spec.mem_id].append(spec)
        self._placed.add(spec)
        end = get_aligned_offset(spec.mem_offset + spec.allocated_memory, self.alignment[spec.mem_id])
        self.bufsizes[spec.mem_id] = max(self.bufsizes[spec.mem_id], end)

    def get_overlapping_spec(self, spec: TensorSpec) -> TensorSpec | None:
        """Returns a tensor in the same memory that is alive at the same time and overlaps, or None."""
        for other in self.allocated_buffers[spec.mem_id]:
            if Verifier.lifetime_overlap(spec, other) and Verifier.storage_overlap(spec, other):
                return other
        return None

    def is_placed(self, spec: TensorSpec) -> bool:
        """Whether a tensor has been placed."""
        return spec in self._placed


class MemoryPlanningAlgo(ABC):
    """Base class of algorithms that place tensors in the memories of a processor. A `MemoryPlanningPass` takes an
    instance as its algorithm; subclasses define `plan`."""

    def __init__(
        self,
        memory_config: MemoryConfig,
        opt_level: int = 1,
        alloc_graph_input: bool = True,
        alloc_graph_output: bool = True,
        additional_constraint_gen_passes: Sequence[ConstraintsGenPass] | None = None,
    ) -> None:
        self.memory_config = memory_config
        self.opt_level = opt_level
        self.alloc_graph_input = alloc_graph_input
        self.alloc_graph_output = alloc_graph_output
        self.additional_constraint_gen_passes = additional_constraint_gen_passes
        self.memory_id_is_valid = [True] * self.get_num_memories()

    def get_num_memories(self) -> int:
        """The number of memories plus one, because the id 0 is not used."""
        return self.memory_config.get_num_memories()

    def get_size(self, exir_id: int) -> int:
        """Returns the size of a memory in bytes."""
        return self.memory_config.get_size(exir_id)

    def get_alignment(self, exir_id: int) -> int:
        """Returns the alignment of offsets in a memory."""
        assert self.memory_config.memory_alignments is not None
        return self.memory_config.memory_alignments[exir_id - 1]

    def populate_constraints(self, graph_module: GraphModule) -> tuple[MemoryPlanningState, MemConstraints]:
        """Returns an empty state and the constraints of a graph."""
        constraints = MemConstraints(self.opt_level, self.alloc_graph_input, self.alloc_graph_output)
        GenerateMemConstraints(constraints, self.additional_constraint_gen_passes)(graph_module)
        return MemoryPlanningState(self.memory_config), constraints

    def is_valid_placement(self, spec: TensorSpec, placement_constraints: MemConstraints) -> bool:
        """Whether the constraints of a tensor allow its memory, and the memory is large enough."""
        end = get_aligned_offset(spec.mem_offset + spec.allocated_memory, self.get_alignment(spec.mem_id))
        return (
            self.memory_id_is_valid[spec.mem_id]
            and end <= self.get_size(spec.mem_id)
            and not placement_constraints.is_mem_id_in_blocklist(spec, spec.mem_id)
        )

    @contextmanager
    def block_memories_except(self, memory_id: int) -> Iterator[None]:
        """Within the context, tensors are placed only in one memory."""
        before = self.memory_id_is_valid
        self.memory_id_is_valid = [each == memory_id and before[each] for each in range(len(before))]
        try:
            yield
        finally:
            self.memory_id_is_valid = before

    @abstractmethod
    def plan(
        self,
        specs: Iterable[TensorSpec],
        graph_module: GraphModule,
        graph_signature: ExportGraphSignature,
        state: MemoryPlanningState,
        placement_constraints: MemConstraints,
        extra_padding: int = 0,
    ) -> None:
        """Places tensors that may be in any memory, and records them in `state`."""

    def failure(self, spec: TensorSpec) -> MemoryPlanningAlgoFailure:
        """Returns the error for a tensor that fits into no memory."""
        names = self.memory_config.memory_names
        sizes = {
            names[at] if names else at + 1: size
            for at, size in enumerate(self.memory_config.memory_sizes)
            if self.memory_id_is_valid[at + 1]
        }
        found = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        return MemoryPlanningAlgoFailure(
            f"Cannot fit a tensor of {spec.allocated_memory} bytes (shape {list(spec.shape)}, in use from node "
            f"{spec.lifetime[0]} to {spec.lifetime[1]}) in any memory, whose bytes are {found}. Give a MemoryConfig "
            "with a larger memory, or remove a constraint"
        )

    def plan_with_constraints(
        self,
        specs: Iterable[TensorSpec],
        graph_module: GraphModule,
        graph_signature: ExportGraphSignature,
        state: MemoryPlanningState,
        placement_constraints: MemConstraints,
        extra_padding: int = 0,
    ) -> None:
        """Places tensors with a fixed offset first, then those with a fixed memory, then all others. Tensors inside
        another tensor are placed together with it."""
        ordered = list(specs)
        pinned = {spec: placement_constraints.get_absolute_placement_constraint(spec) for spec in ordered}
        for spec, constraint in pinned.items():
            if constraint is not None and constraint.offset is not None:
                spec.mem_id, spec.mem_offset = constraint.pinned_memory_id, constraint.offset
                state.place_spec(spec)
        for mem_id in range(1, self.get_num_memories()):
            group = [
                spec
                for spec, each in pinned.items()
                if each and each.offset is None and each.pinned_memory_id == mem_id
            ]
            if group:
                with self.block_memories_except(mem_id):
                    self.plan(group, graph_module, graph_signature, state, placement_constraints, extra_padding)
        free = [
            spec
            for spec, constraint in pinned.items()
            if constraint is None and not placement_constraints.skipped_spec(spec)
        ]
        self.plan(free, graph_module, graph_signature, state, placement_constraints, extra_padding)
        for spec in ordered:
            if state.is_placed(spec):
                placement_constraints.resolve_relative_loc_constraints(spec)

    def __call__(
        self,
        alignment: int,
        specs: Iterable[TensorSpec],
        graph_module: GraphModule,
        graph_signature: ExportGraphSignature,
        extra_padding: int = 0,
    ) -> list[int]:
        """Places tensors, and returns the size of each memory in bytes. Uses the alignments of the memories."""
        state, constraints = self.populate_constraints(graph_module)
        is_free = not constraints.relative_loc_constraints_exist()
        self.plan_with_constraints(specs, graph_module, graph_signature, state, constraints, extra_padding)
        assert not constraints.relative_loc_constraints_exist()
        for mem_id, placed in enumerate(state.allocated_buffers):
            pinned = map(constraints.get_absolute_placement_constraint, placed)
            if placed and is_free and not any(pinned):
                least = max(alignment, self.get_alignment(mem_id))
                self._pack(mem_id, state, greedy(least, placed, graph_module, graph_signature))
        return state.bufsizes

    @staticmethod
    def _pack(mem_id: int, state: MemoryPlanningState, found: MemoryAlgoResult) -> None:
        """Moves the tensors of a memory to the offsets that `greedy` found, if the memory then needs fewer bytes."""
        if found.bufsizes[mem_id] < state.bufsizes[mem_id]:
            state.bufsizes[mem_id] = found.bufsizes[mem_id]
            for spec, place in found.spec_dict.items():
                spec.mem_offset = place.mem_offset
