# SPDX-License-Identifier: BSD-3-Clause
"""Constraints on the placement of a tensor: in a memory, not in a memory, at an offset, or inside another tensor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from torch.fx import Graph, Node

from sdk.backends.cadence.aot.utils import is_node_in_flattened_output
from sdk.exir.tensor import TensorSpec


@dataclass(frozen=True)
class RelativePlacementConstraint:
    """The tensor starts `offset` bytes after the start of `source`'s tensor."""

    source: Node
    offset: int = 0


@dataclass(frozen=True)
class AbsolutePlacementConstraint:
    """The tensor is in a given memory, and at a given offset if that is not None."""

    pinned_memory_id: int
    offset: int | None = None


def spec_of(node: Node) -> TensorSpec:
    """Returns the specification of a node's only tensor."""
    spec = node.meta.get("spec")
    if not isinstance(spec, TensorSpec):
        raise ValueError(f"{node.name}: expected a node of one tensor with a spec, found {spec!r}")
    return spec


class MemConstraints:
    """The constraints of a graph's tensors, by node. If a tensor is inside another that is itself inside a third, it is
    recorded as inside the third."""

    def __init__(self, opt_level: int = 1, alloc_graph_input: bool = True, alloc_graph_output: bool = True) -> None:
        self.opt_level = opt_level
        self.alloc_graph_input = alloc_graph_input
        self.alloc_graph_output = alloc_graph_output
        self.unresolved_loc_constraints: dict[TensorSpec, list[Node]] = {}
        """For each tensor, the tensors that are inside it."""
        self._absolute: dict[TensorSpec, AbsolutePlacementConstraint] = {}
        self._relative: dict[TensorSpec, RelativePlacementConstraint] = {}
        self._blocked: dict[TensorSpec, set[int]] = {}

    def add_absolute_placement_constraint(self, node: Node, pinned_memory_id: int, offset: int | None = None) -> None:
        """Puts a node's tensor in a memory, at an offset if one is given."""
        info = self.get_relative_placement_source(node)
        if info is not None:
            if not self.is_alias_of(info.source, node):
                raise ValueError(f"{node.name}: expected one constraint on its place, found a second one beside {info}")
            node = info.source
        self._absolute[spec_of(node)] = AbsolutePlacementConstraint(pinned_memory_id, offset)

    def get_absolute_placement_constraint(self, spec: TensorSpec) -> AbsolutePlacementConstraint | None:
        """Returns the constraint on the placement of a tensor, or None."""
        return self._absolute.get(spec)

    def add_mem_id_to_blocklist(self, spec: TensorSpec, mem_id: int) -> None:
        """Keeps a tensor out of a memory."""
        self._blocked.setdefault(spec, set()).add(mem_id)

    def is_mem_id_in_blocklist(self, spec: TensorSpec, mem_id: int) -> bool:
        """Whether a tensor must not be in a memory."""
        return mem_id in self._blocked.get(spec, ())

    def get_relative_placement_source(self, node: Node) -> RelativePlacementConstraint | None:
        """Returns the constraint that puts a node's tensor inside another, or None."""
        return self._relative.get(spec_of(node))

    def is_alias_of(self, node: Node, other_node: Node) -> bool:
        """Whether two nodes share all bytes."""
        return self._root_of(node) is self._root_of(other_node) is not None

    def _root_of(self, node: Node) -> Node | None:
        """Returns the node that shares all bytes of another, or None if the tensor is only a part."""
        info = self.get_relative_placement_source(node)
        if info is None:
            return node
        outer, inner = spec_of(info.source), spec_of(node)
        same = outer.dtype == inner.dtype and outer.nbytes() == inner.nbytes()
        return info.source if same and info.offset == 0 else None

    def add_relative_placement_constraint(
        self, source: Node, dependent: Node, offset: int = 0, update_lifetime: bool = True
    ) -> None:
        """Places the tensor of `dependent` inside that of `source`. Unless `update_lifetime` is False, `source` then
        lives until both are dead. Raises ValueError if it does not fit, or contradicts a constraint of one
        of them."""
        if (outer := self.get_relative_placement_source(source)) is not None:
            source, offset = outer.source, offset + outer.offset
        if (own := self.get_relative_placement_source(dependent)) is not None:
            if not self.is_alias_of(own.source, dependent) or own.source is source:
                raise ValueError(f"{dependent.name}: expected one constraint on its place, found a second one")
            dependent = own.source
        outside, inside = spec_of(source), spec_of(dependent)
        if offset < 0 or offset + inside.nbytes() > outside.nbytes():
            raise ValueError(
                f"{dependent.name}: expected bytes {offset} to {offset + inside.nbytes()} within the "
                f"{outside.nbytes()} bytes of {source.name}"
            )
        self._move_absolute_constraint(source, dependent, offset)
        self._place(source, dependent, offset, update_lifetime)
        for child in self.unresolved_loc_constraints.pop(inside, ()):
            at = self._relative[spec_of(child)].offset
            self._place(source, child, offset + at, update_lifetime)

    def _place(self, source: Node, dependent: Node, offset: int, update_lifetime: bool) -> None:
        outside, inside = spec_of(source), spec_of(dependent)
        self._relative[inside] = RelativePlacementConstraint(source, offset)
        if self.is_memory_planned(source):
            self.unresolved_loc_constraints.setdefault(outside, []).append(dependent)
        if update_lifetime and None not in (*outside.lifetime, *inside.lifetime):
            first, last = zip(outside.lifetime, inside.lifetime, strict=True)
            outside.lifetime = [min(first), max(last)]

    def _move_absolute_constraint(self, source: Node, dependent: Node, offset: int) -> None:
        """Moves a constraint of a tensor to the tensor that contains it."""
        inside = spec_of(dependent)
        fixed = self._absolute.get(inside)
        if fixed is None:
            return
        if offset or spec_of(source).nbytes() != inside.nbytes():
            raise RuntimeError(
                f"Cannot add relative placement constraint for {dependent} with non-zero offset {offset} when it has "
                f"an absolute placement constraint {fixed}"
            )
        self._absolute[spec_of(source)] = self._absolute.pop(inside)

    def skipped_spec(self, spec: TensorSpec) -> bool:
        """Whether the placement of a tensor follows from that of another tensor."""
        return spec in self._relative

    def is_memory_planned(self, node: Node) -> bool:
        """Whether the plan may place a node's tensor. It does not place parameters, nor inputs and results whose memory
        the application provides."""
        info = self.get_relative_placement_source(node)
        if info is not None:
            return self.is_memory_planned(info.source)
        if node.op == "get_attr" or (node.op == "placeholder" and (spec_of(node).const or not self.alloc_graph_input)):
            return False
        return self.alloc_graph_output or all(user.op != "output" for user in node.users)

    def contains_unoptimizable_placeholder_or_param(self, nodes: Iterable[Node]) -> bool:
        """Whether there is a tensor that the plan cannot place."""
        return not all(self.is_memory_planned(node) for node in nodes)

    def is_unallocated_output(self, graph: Graph, node: Node) -> bool:
        """Whether the application provides the memory of a result."""
        return not self.alloc_graph_output and is_node_in_flattened_output(graph, node)

    def resolve_relative_loc_constraints(self, spec: TensorSpec) -> None:
        """Places the tensors inside a tensor that has been placed."""
        for node in self.unresolved_loc_constraints.pop(spec, ()):
            inner = spec_of(node)
            inner.mem_id, inner.mem_offset = spec.mem_id, spec.mem_offset + self._relative[inner].offset

    def relative_loc_constraints_exist(self) -> bool:
        """Whether tensors wait for others to be placed."""
        return bool(self.unresolved_loc_constraints)
