# SPDX-License-Identifier: BSD-3-Clause
"""Checks a memory plan: no two tensors that are needed at the same time share a byte."""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Iterable
from typing import Any

import numpy as np
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule

from sdk.exir.error import InternalError, internal_assert
from sdk.exir.memory_planning._lifetimes import (
    _is_buffer,
    _mutated_placeholders,
    collect_specs_from_nodes,
    get_node_tensor_specs,
    storage_spec,
)
from sdk.exir.tensor import TensorSpec


class Verifier:
    """The plan of one graph. Each branch of control flow is a separate graph."""

    def __init__(
        self,
        graph_module: GraphModule,
        alloc_graph_input: bool,
        alloc_graph_output: bool,
        alloc_mutable_buffers: bool,
        graph_signature: ExportGraphSignature | None = None,
    ) -> None:
        self.graph_module = graph_module
        self.graph_signature = graph_signature
        self.alloc_graph_input = alloc_graph_input
        self.alloc_graph_output = alloc_graph_output
        self.alloc_mutable_buffers = alloc_mutable_buffers

    @classmethod
    def mem_obj_id_match(cls, lhs_spec: TensorSpec, rhs_spec: TensorSpec, accept_both_none: bool = True) -> bool:
        """Whether both specs are in the same reused buffer of the same arena."""
        if lhs_spec.mem_id != rhs_spec.mem_id:
            return False
        if lhs_spec.mem_obj_id is None and rhs_spec.mem_obj_id is None:
            return accept_both_none
        return lhs_spec.mem_obj_id == rhs_spec.mem_obj_id

    @classmethod
    def has_overlap(cls, lhs_ivl: list[int], rhs_ivl: list[int]) -> bool:
        """Whether two closed intervals have a common point."""
        return lhs_ivl[0] <= rhs_ivl[1] and rhs_ivl[0] <= lhs_ivl[1]

    @classmethod
    def lifetime_overlap(cls, lhs_spec: TensorSpec, rhs_spec: TensorSpec) -> bool:
        return cls.has_overlap(lhs_spec.lifetime, rhs_spec.lifetime)

    @classmethod
    def storage_overlap(cls, lhs_spec: TensorSpec, rhs_spec: TensorSpec) -> bool:
        """Whether two specs share a byte. Tensors without elements share none."""
        places = (lhs_spec.mem_id, lhs_spec.mem_offset, rhs_spec.mem_id, rhs_spec.mem_offset)
        internal_assert(None not in places, f"not planned yet: {lhs_spec.debug()} or {rhs_spec.debug()}")
        if lhs_spec.mem_id != rhs_spec.mem_id or not lhs_spec.nbytes() or not rhs_spec.nbytes():
            return False
        return cls.has_overlap(
            [lhs_spec.mem_offset, lhs_spec.mem_offset + lhs_spec.nbytes() - 1],
            [rhs_spec.mem_offset, rhs_spec.mem_offset + rhs_spec.nbytes() - 1],
        )

    def _specs(self) -> list[TensorSpec]:
        return list(
            collect_specs_from_nodes(
                self.graph_module.graph.nodes,
                self.graph_signature,
                ignore_graph_input=not self.alloc_graph_input,
                ignore_graph_output=not self.alloc_graph_output,
                ignore_mutable_buffers=not self.alloc_mutable_buffers,
            )
        )

    def verify_storage_reuse(self, allow_lifetime_and_storage_overlap: bool = False) -> int:
        """The number of pairs of tensors that share memory.

        Raises `InternalError` if such a pair is needed at the same time, unless that is allowed.
        """
        specs = self._specs()
        for spec in specs:
            internal_assert(
                spec.mem_id is not None and spec.mem_offset is not None and None not in spec.lifetime,
                f"the memory planning algorithm has not placed {spec.debug()}",
            )
        shared, conflict = _shared_pairs(specs)
        if conflict and not allow_lifetime_and_storage_overlap:
            lhs, rhs = conflict
            raise InternalError(
                "two tensors that are needed at the same time share memory; the memory planning algorithm is wrong, or "
                f"pass allow_lifetime_and_storage_overlap=True if this is meant: {lhs.debug()} and {rhs.debug()}"
            )
        return shared

    def verify_graph_input_output(self) -> None:
        """Raises `InternalError` unless the inputs, outputs and buffers that should have memory, and no others, have
        it."""
        mutated = _mutated_placeholders(self.graph_signature)
        inputs: list[TensorSpec] = []
        state: list[TensorSpec] = []
        outputs: list[TensorSpec] = []
        for node in self.graph_module.graph.nodes:
            specs = [spec for spec in get_node_tensor_specs(node) if not spec.const]
            if node.op == "placeholder":
                is_state = node.name in mutated and _is_buffer(node, self.graph_signature)
                (state if is_state else inputs).extend(specs)
            elif node.op == "output":
                outputs += [spec for spec in specs if storage_spec(spec) is spec]
        groups: tuple[tuple[str, list[TensorSpec], bool, set[TensorSpec]], ...] = (
            ("input", inputs, self.alloc_graph_input, set(outputs) if not self.alloc_graph_output else set()),
            ("mutable buffer", state, self.alloc_mutable_buffers, set()),
            (
                "output",
                outputs,
                self.alloc_graph_output,
                set(inputs if not self.alloc_graph_input else ()) | set(state),
            ),
        )
        for name, specs, expected, exempt in groups:
            self._check(name, (spec for spec in specs if spec not in exempt), expected)

    @staticmethod
    def _check(name: str, specs: Iterable[TensorSpec], expected: bool) -> None:
        for spec in specs:
            if spec.is_dynamic_unbound_tensor:
                continue
            allocated = spec.mem_id is not None and spec.mem_offset is not None
            internal_assert(
                allocated == expected,
                f"{name} {spec.debug()} is {'planned' if allocated else 'not planned'}; expected the opposite",
            )


def _shared_pairs(specs: list[TensorSpec]) -> tuple[int, tuple[TensorSpec, TensorSpec] | None]:
    """Returns how many pairs share bytes, and one pair whose tensors are alive at the same time, or None."""
    specs = [spec for spec in specs if spec.nbytes()]
    if not specs:
        return 0, None
    arenas: dict[Any, list[TensorSpec]] = {}
    for spec in specs:
        arenas.setdefault(spec.mem_id, []).append(spec)
    conflicts = (pair for members in arenas.values() if (pair := _conflict(members)))
    return sum(map(_overlaps, arenas.values())), next(conflicts, None)


def _overlaps(specs: list[TensorSpec]) -> int:
    """Returns how many pairs of an arena share bytes: all pairs except those in which one tensor ends before the other
    starts."""
    start, size = np.array([(s.mem_offset, s.nbytes()) for s in specs], dtype=np.int64).T
    after = len(specs) - np.searchsorted(np.sort(start), start + size)
    return len(specs) * (len(specs) - 1) // 2 - int(after.sum())


def _conflict(specs: list[TensorSpec]) -> tuple[TensorSpec, TensorSpec] | None:
    """A pair of one arena that shares bytes while both are needed.

    The tensors that are live at a node are kept in the order of their offsets. They do not share bytes, so a new tensor
    can only share bytes with its neighbours.
    """
    alive: list[tuple[int, int]] = []  # offset, index
    ends: list[tuple[int, int, int]] = []  # last node, offset, index
    for index, spec in sorted(enumerate(specs), key=lambda item: item[1].lifetime[0]):
        while ends and ends[0][0] < spec.lifetime[0]:
            _, *key = heapq.heappop(ends)
            alive.pop(bisect.bisect_left(alive, tuple(key)))
        at = bisect.bisect_left(alive, (spec.mem_offset, index))
        for _, other in alive[max(at - 1, 0) : at + 1]:
            before, after = sorted((specs[other], spec), key=lambda each: each.mem_offset)
            if after.mem_offset < before.mem_offset + before.nbytes():
                return specs[other], spec
        alive.insert(at, (spec.mem_offset, index))
        heapq.heappush(ends, (spec.lifetime[1], spec.mem_offset, index))
    return None
