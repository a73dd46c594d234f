# SPDX-License-Identifier: BSD-3-Clause
"""The algorithms that place a method's tensors in arenas, and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule

from sdk.exir.error import InternalError
from sdk.exir.memory_planning._interval_packing import Block, pack, pack_objects
from sdk.exir.tensor import TensorSpec

DEFAULT_MEM_ID = 1


@dataclass
class SpecAllocResult:
    """The place that an algorithm gives a tensor. Tensors with the same `mem_obj_id` in an arena start at the same
    offset."""

    mem_id: int
    mem_obj_id: int
    mem_offset: int


@dataclass
class MemoryAlgoResult:
    """`bufsizes[i]` is the size in bytes of the arena with memory id i; entry 0 is a reserved 0."""

    spec_dict: dict[TensorSpec, SpecAllocResult]
    bufsizes: list[int]


class _OrderedSpecs(set[TensorSpec]):
    """A set that is iterated in the order of the graph. Specs are hashed by address, which differs between runs, but an
    algorithm must give the same plan on every run.
    """

    def __init__(self, specs: Iterable[TensorSpec]) -> None:
        self._order = tuple(dict.fromkeys(specs))
        super().__init__(self._order)

    def __iter__(self) -> Iterator[TensorSpec]:
        known = set(self._order)
        yield from (spec for spec in self._order if spec in self)
        yield from (spec for spec in super().__iter__() if spec not in known)


def _by_mem_id(specs: Iterable[TensorSpec], alignment: int) -> dict[int, list[TensorSpec]]:
    """The specs of each arena, in a reproducible order."""
    groups: dict[int, list[TensorSpec]] = {}
    for spec in specs:
        if spec.lifetime[0] is None:
            raise InternalError(f"{spec!r} has no lifetime; call update_all_tensors_lifetime first")
        spec.realign(alignment)
        groups.setdefault(DEFAULT_MEM_ID if spec.mem_id is None else spec.mem_id, []).append(spec)
    for group in groups.values():
        group.sort(key=lambda spec: (spec.lifetime, spec.allocated_memory))
    return groups


def _plan(
    specs: Iterable[TensorSpec], alignment: int, place: Callable[[Sequence[Block]], tuple[int, list[int]]], padding: int
) -> MemoryAlgoResult:
    groups = _by_mem_id(specs, alignment)
    sizes = [0] * (max(groups, default=DEFAULT_MEM_ID) + 1)
    places: dict[TensorSpec, SpecAllocResult] = {}
    for mem_id, group in groups.items():
        blocks = [Block(spec.allocated_memory, *spec.lifetime) for spec in group]
        size, offsets = place(blocks)
        objects = {offset: number for number, offset in enumerate(sorted(set(offsets)))}
        sizes[mem_id] = size + padding
        for spec, offset in zip(group, offsets, strict=True):
            places[spec] = SpecAllocResult(mem_id, objects[offset], offset)
    return MemoryAlgoResult(places, sizes)


def greedy(
    alignment: int,
    specs: Iterable[TensorSpec],
    graph_module: GraphModule,
    graph_signature: ExportGraphSignature,
    extra_padding: int = 0,
    *,
    allow_overlapping_allocations: bool = True,
) -> MemoryAlgoResult:
    """Reuses memory of tensors that are no longer needed; tries several orders and keeps the smallest plan.

    `extra_padding` bytes are added to each arena. Without `allow_overlapping_allocations` two tensors share memory
    only if they start at the same offset.
    """
    return _plan(specs, alignment, pack if allow_overlapping_allocations else pack_objects, extra_padding)


def naive(
    alignment: int,
    specs: set[TensorSpec],
    graph_module: GraphModule,
    graph_signature: ExportGraphSignature,
    extra_padding: int,
) -> MemoryAlgoResult:
    """Places tensors in sequence without reuse: the upper bound that other plans are compared with. `extra_padding`
    bytes are added to each arena."""

    def concatenate(blocks: Sequence[Block]) -> tuple[int, list[int]]:
        offsets, size = [], 0
        for block in blocks:
            offsets.append(size)
            size += block.size
        return size, offsets

    return _plan(specs, alignment, concatenate, extra_padding)


class MemoryPlanningAlgorithmSuite:
    """Runs several algorithms and applies the plan with the fewest bytes over all arenas."""

    def __init__(self, algo_list: list[Callable[..., MemoryAlgoResult]] | None = None) -> None:
        self.algo_list = [greedy] if algo_list is None else algo_list

    def __call__(
        self,
        alignment: int,
        specs: set[TensorSpec],
        graph_module: GraphModule,
        graph_signature: ExportGraphSignature,
        extra_padding: int,
    ) -> list[int]:
        results = [algo(alignment, specs, graph_module, graph_signature, extra_padding) for algo in self.algo_list]
        if not results:
            raise ValueError("MemoryPlanningAlgorithmSuite needs at least one algorithm")
        return apply_result(min(results, key=lambda result: sum(result.bufsizes)))


def apply_result(result: MemoryAlgoResult) -> list[int]:
    """Writes a plan into its specs; returns the sizes of the arenas."""
    for spec, place in result.spec_dict.items():
        spec.mem_id, spec.mem_obj_id, spec.mem_offset = place.mem_id, place.mem_obj_id, place.mem_offset
    return result.bufsizes
