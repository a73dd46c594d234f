# SPDX-License-Identifier: BSD-3-Clause
"""What a memory plan must respect: memories that a tensor must be in or must not be in, fixed offsets, and tensors that
are placed inside others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir.tensor import TensorSpec


@dataclass(frozen=True)
class RelativePlacementConstraint:
    """A tensor lies `offset` bytes behind the beginning of `source`'s tensor."""

    source: Node
    offset: int = 0

    @property
    def spec(self) -> TensorSpec:
        """The tensor of the source."""
        return _spec_of(self.source)


@dataclass(frozen=True)
class AbsolutePlacementConstraint:
    """A tensor lies in a memory, at an offset if one is given."""

    pinned_memory_id: int
    offset: int | None = None


def _spec_of(node: Node) -> TensorSpec:
    spec = node.meta.get("spec")
    if not isinstance(spec, TensorSpec):
        raise ValueError(f"{node.name}: expected a node of one tensor with a spec, found {spec!r}")
    return spec


class MemConstraints:
    """The constraints of a graph's tensors, by node."""

    def __init__(self, opt_level: int = 1, alloc_graph_input: bool = True, alloc_graph_output: bool = True) -> None:
        self.opt_level = opt_level
        self.alloc_graph_input = alloc_graph_input
        self.alloc_graph_output = alloc_graph_output
        self.unresolved_loc_constraints: dict[TensorSpec, list[tuple[Node, int]]] = {}
        """By the tensor that others lie in: those, with their offsets."""
        self._absolute: dict[TensorSpec, AbsolutePlacementConstraint] = {}
        self._relative: dict[TensorSpec, tuple[TensorSpec, int]] = {}
        self._blocked: dict[TensorSpec, set[int]] = {}

    def add_absolute_placement_constraint(self, node: Node, pinned_memory_id: int, offset: int | None = None) -> None:
        """Puts a node's tensor in a memory, at an offset if one is given."""
        self._absolute[_spec_of(node)] = AbsolutePlacementConstraint(pinned_memory_id, offset)

    def get_absolute_placement_constraint(self, spec: TensorSpec) -> AbsolutePlacementConstraint | None:
        """Where a tensor must be."""
        return self._absolute.get(spec)

    def is_memory_id_pinned(self, spec: TensorSpec) -> bool:
        """Whether a tensor must be in one memory."""
        return spec in self._absolute

    def add_mem_id_to_blocklist(self, spec: TensorSpec, mem_id: int) -> None:
        """Keeps a tensor out of a memory."""
        self._blocked.setdefault(spec, set()).add(mem_id)

    def is_mem_id_in_blocklist(self, spec: TensorSpec, mem_id: int) -> bool:
        """Whether a tensor must not be in a memory."""
        return mem_id in self._blocked.get(spec, ())

    def add_relative_placement_constraint(self, source: Node, dependent: Node, offset: int = 0) -> None:
        """Places the tensor of `dependent` inside that of `source`. Raises ValueError if it does not fit, or if one of
        them is placed elsewhere."""
        outer, inner = _spec_of(source), _spec_of(dependent)
        end = offset + inner.allocated_memory
        if offset < 0 or end > outer.allocated_memory:
            raise ValueError(
                f"{dependent.name}: expected bytes {offset} to {end} within the {outer.allocated_memory} bytes of "
                f"{source.name}"
            )
        if inner in self._relative or inner in self._absolute:
            raise ValueError(f"{dependent.name}: expected one constraint on its place, found a second one")
        self._relative[inner] = (outer, offset)
        self.unresolved_loc_constraints.setdefault(outer, []).append((dependent, offset))

    def is_alias_of(self, node: Node, other: Node) -> bool:
        """Whether the place of a node's tensor follows from that of another's."""
        return self._relative.get(_spec_of(node), (None, 0))[0] is _spec_of(other)

    def skipped_spec(self, spec: TensorSpec) -> bool:
        """Whether the place of a tensor follows from that of another."""
        return spec in self._relative

    def extend_lifetimes(self) -> None:
        """A tensor lives as long as what lies in it."""
        for inner in self._relative:
            outer = self._relative[inner][0]
            while True:
                outer.lifetime = [
                    min(outer.lifetime[0], inner.lifetime[0]),
                    max(outer.lifetime[1], inner.lifetime[1]),
                ]
                if outer not in self._relative:
                    break
                outer = self._relative[outer][0]

    def resolve_relative_loc_constraints(self, spec: TensorSpec) -> None:
        """Places what lies in a tensor that has been placed."""
        for node, offset in self.unresolved_loc_constraints.pop(spec, ()):
            inner = _spec_of(node)
            inner.mem_id, inner.mem_offset = spec.mem_id, spec.mem_offset + offset
            self.resolve_relative_loc_constraints(inner)

    def relative_loc_constraints_exist(self) -> bool:
        """Whether tensors wait for others to be placed."""
        return bool(self.unresolved_loc_constraints)


ConstraintsGenPass = Callable[[MemConstraints], Callable[[GraphModule], "PassResult | None"]]
"""A class of passes that add constraints."""


class GenerateMemConstraints:
    """Runs the passes that add constraints."""

    def __init__(
        self,
        mem_constraints: MemConstraints,
        additional_constraint_gen_passes: Sequence[ConstraintsGenPass] | None = None,
    ) -> None:
        self.mem_constraints = mem_constraints
        self.passes: list[Any] = list(additional_constraint_gen_passes or ())

    def __call__(self, graph_module: GraphModule) -> PassResult:
        for each in self.passes:
            each(self.mem_constraints)(graph_module)
        return PassResult(graph_module, False)
