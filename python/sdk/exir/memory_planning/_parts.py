# SPDX-License-Identifier: BSD-3-Clause
"""Finds results that are parts of an operand: slices, selections, splits and reshapes whose elements are contiguous in
it.

Such a result is a view of the operand's memory: its spec has the operand's as `inplace_base`, `inplace_offset`
bytes from its start, and the program has no instruction for it. This requires that nothing writes to the bytes while
they are still read, and that the longer lifetime of the operand does not raise the peak of live bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule, Node

from sdk.exir import memory
from sdk.exir.delegate import executorch_call_delegate
from sdk.exir.memory_planning._in_place import is_written_already
from sdk.exir.memory_planning._lifetimes import (
    _is_inplace_node,
    _mutated_placeholders,
    collect_specs_from_nodes,
    control_flow_branches,
    filter_nodes,
    get_node_tensor_specs,
    place_in_storage,
    storage_spec,
)
from sdk.exir.schema import DeviceType
from sdk.exir.tensor import TensorSpec


def _same(tensor: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    return tensor


_VIEWS: dict[str, Callable[..., Any]] = {
    "aten::alias_copy.out": _same,
    "aten::clone.out": _same,
    "aten::expand_copy.out": torch.ops.aten.expand.default,
    "aten::permute_copy.out": torch.ops.aten.permute.default,
    "aten::select_copy.int_out": torch.ops.aten.select.int,
    "aten::slice_copy.Tensor_out": torch.ops.aten.slice.Tensor,
    "aten::split_copy.Tensor_out": torch.ops.aten.split.Tensor,
    "aten::split_with_sizes_copy.out": torch.ops.aten.split_with_sizes.default,
    "aten::squeeze_copy.dim_out": torch.ops.aten.squeeze.dim,
    "aten::squeeze_copy.dims_out": torch.ops.aten.squeeze.dims,
    "aten::squeeze_copy.out": torch.ops.aten.squeeze.default,
    "aten::t_copy.out": torch.ops.aten.t.default,
    "aten::transpose_copy.int_out": torch.ops.aten.transpose.int,
    "aten::unbind_copy.int_out": torch.ops.aten.unbind.int,
    "aten::unsqueeze_copy.out": torch.ops.aten.unsqueeze.default,
    "aten::view_copy.out": torch.ops.aten.view.default,
    "dim_order_ops::_clone_dim_order.out": _same,
    "dim_order_ops::_to_dim_order_copy.out": _same,
}
"""Operators that copy, and the operators that make the same result without a copy."""


def place_parts_on_operands(
    graph_module: GraphModule, graph_signature: ExportGraphSignature | None, alignment: int, **ignored: bool
) -> None:
    """Sets `inplace_base` and `inplace_offset` of specs, in branches too; call it after `place_results_on_operands`.

    `ignored` says which nodes have no planned memory, as for `collect_specs_from_nodes`. Nothing is done if
    `graph_module.meta["share_parts"]` is False, which `ExecutorchBackendConfig(remove_view_copy=False)` asks for.
    """
    if not graph_module.meta.get("share_parts", True):
        return
    for node in graph_module.graph.nodes:
        for branch in control_flow_branches(graph_module, node):
            place_parts_on_operands(branch, None, alignment, ignore_graph_input=True)
    _Graph(graph_module, graph_signature, alignment, ignored).place_parts()


def are_parts(node: Node) -> bool:
    """Whether all results of a node are parts of its operand, so that it needs no instruction. A planning algorithm
    that places the tensors of a copy on each other sets the node's `meta["is_placed"]`, which says the same."""
    specs = get_node_tensor_specs(node)
    if node.meta.get("is_placed"):
        return True
    return bool(specs) and _name(node) in _VIEWS and all(spec.inplace_offset is not None for spec in specs)


@dataclass
class _Access:
    """The bytes of a storage that a node reads or writes, from `start` up to `end`."""

    index: int
    start: int
    end: int
    writes: bool

    def touches(self, start: int, end: int) -> bool:
        return self.start < end and start < self.end


@dataclass
class _Change:
    """Live bytes that were added from the node at `start` up to the node at `end`."""

    mem_id: Any
    start: int
    end: int
    bytes: int


@dataclass
class _Candidate:
    """The node at `index`, whose results are found the given numbers of bytes from the start of its operand."""

    index: int
    operand: TensorSpec
    parts: list[tuple[TensorSpec, int]]


class _Graph:
    """The readers and writers of each storage's bytes, and the number of live bytes at each node."""

    def __init__(
        self,
        graph_module: GraphModule,
        graph_signature: ExportGraphSignature | None,
        alignment: int,
        ignored: dict[str, bool],
    ) -> None:
        self.nodes = list(graph_module.graph.nodes)
        self.alignment = alignment
        self.planned = set(collect_specs_from_nodes(self.nodes, graph_signature, **ignored))
        self.accesses: dict[TensorSpec, list[_Access]] = {}
        # Storage whose offset is fixed elsewhere, or that other nodes rely on.
        self.pinned: set[TensorSpec] = set()
        # Storage that is passed to a delegate, which may expect it to be aligned.
        self.delegated: set[TensorSpec] = set()
        mutated = _mutated_placeholders(graph_signature)
        for index, node in enumerate(self.nodes):
            self._note(graph_module, index, node, node.name in mutated)
        self.alive: dict[Any, np.ndarray] = {}
        self.changes: list[_Change] = []
        self.replaced: dict[TensorSpec, list[_Access]] = {}
        for spec in self.accesses:
            if spec in self.planned:
                self._count(spec, 1)
        self.changes.clear()
        self.peaks = {mem_id: int(alive.argmax()) for mem_id, alive in self.alive.items()}

    def _note(self, graph_module: GraphModule, index: int, node: Node, is_state: bool) -> None:
        operands = [s for arg in node.all_input_nodes if arg.target is not memory.alloc for s in _specs(arg)]
        results = list(_specs(node))
        if node.op == "output" or control_flow_branches(graph_module, node):
            self.pinned.update(map(storage_spec, [*operands, *results]))
        elif node.target is executorch_call_delegate:
            self.delegated.update(map(storage_spec, [*operands, *results]))
        if node.op == "placeholder":
            for spec in results:
                self._access(spec, 0, writes=True)
                if is_state:  # the buffer's value is kept for the next call
                    self._access(spec, len(self.nodes))
            return
        for spec in operands:
            self._access(spec, index)
        if node.op == "call_function" and node.target is not memory.alloc and node.target is not memory.view:
            written = not (_is_inplace_node(node) and is_written_already(node))
            for spec in results if written else ():
                self._access(spec, index, writes=True)

    def _access(self, spec: TensorSpec, index: int, writes: bool = False) -> None:
        root, start = place_in_storage(spec)
        self.accesses.setdefault(root, []).append(_Access(index, start, start + spec.nbytes(), writes))

    def _lifetime(self, root: TensorSpec) -> tuple[int, int]:
        indices = [access.index for access in self.accesses[root]]
        return min(indices), min(max(indices), len(self.nodes) - 1)

    def _count(self, root: TensorSpec, sign: int) -> None:
        """Adds a storage to the live bytes, or removes it."""
        if root not in self.accesses:
            return
        first, last = self._lifetime(root)
        if root.mem_id not in self.alive:
            self.alive[root.mem_id] = np.zeros(len(self.nodes), dtype=np.int64)
        bytes_ = sign * -(-root.nbytes() // self.alignment) * self.alignment
        self.alive[root.mem_id][first : last + 1] += bytes_
        self.changes.append(_Change(root.mem_id, first, last + 1, bytes_))

    def place_parts(self) -> None:
        refused: dict[TensorSpec, list[_Candidate]] = {}
        for candidate in self._candidates():
            if not self._join_all([candidate]):
                refused.setdefault(storage_spec(candidate.operand), []).append(candidate)
        # Joining one part may raise the peak, because the other results are still copied, even if joining all does not.
        for candidates in refused.values():
            if len(candidates) > 1:
                self._join_all(candidates)

    def _candidates(self) -> Iterator[_Candidate]:
        for index, node in enumerate(self.nodes):
            view = _VIEWS.get(_name(node))
            if view is None or not isinstance(node.args[0], Node):
                continue
            operand, results = node.args[0].meta.get("spec"), get_node_tensor_specs(node)
            if not isinstance(operand, TensorSpec) or not all(self._movable(s, operand) for s in results):
                continue
            offsets = list(_offsets(view, node, operand, results))
            if len(offsets) == len(results):
                yield _Candidate(index, operand, list(zip(results, offsets, strict=True)))

    def _movable(self, result: TensorSpec, operand: TensorSpec) -> bool:
        base = storage_spec(operand)
        return (
            result in self.planned
            and base in self.planned
            and storage_spec(result) is result
            and all(spec.is_static_shape_tensor for spec in (base, operand, result))
            and result not in self.pinned
            and base not in self.pinned
            and result.mem_id == base.mem_id
            and (base.device, result.device) == (DeviceType.CPU, DeviceType.CPU)
        )

    def _join_all(self, candidates: Sequence[_Candidate]) -> bool:
        """Places results inside their operands unless that raises the peak. Returns whether it did."""
        self.changes.clear()
        self.replaced.clear()
        joined = [candidate for candidate in candidates if self._join(candidate)]
        if not joined:
            return False
        changed = {change.mem_id for change in self.changes}
        if not any(self._raised(mem_id) for mem_id in changed):
            self.peaks.update((mem_id, self._peak(mem_id)) for mem_id in changed)
            return True
        for change in self.changes:
            self.alive[change.mem_id][change.start : change.end] -= change.bytes
        self.accesses.update(self.replaced)
        for candidate in joined:
            for spec, _ in candidate.parts:
                spec.inplace_base = spec.inplace_offset = None
        return False

    def _raised(self, mem_id: Any) -> bool:
        """Whether the changes raise the peak of live bytes. Only the nodes that they affect are examined, because a
        graph may have as many candidates as nodes."""
        alive, peak = self.alive[mem_id], self.peaks[mem_id]
        changes = [change for change in self.changes if change.mem_id == mem_id]
        before = int(alive[peak]) - sum(change.bytes for change in changes if change.start <= peak < change.end)
        return any(int(alive[change.start : change.end].max()) > before for change in changes)

    def _peak(self, mem_id: Any) -> int:
        """The node with the most live bytes after changes that did not raise them."""
        peak = self.peaks[mem_id]
        touched = any(change.start <= peak < change.end for change in self.changes if change.mem_id == mem_id)
        return int(self.alive[mem_id].argmax()) if touched else peak

    def _join(self, candidate: _Candidate) -> bool:
        root, start = place_in_storage(candidate.operand)
        index = candidate.index
        moved: list[_Access] = []
        for spec, offset in candidate.parts:
            at = start + offset
            if spec in self.delegated and at % self.alignment:
                return False
            own = (access for access in self.accesses.get(spec, ()) if access.index != index)
            moved += [_Access(a.index, a.start + at, a.end + at, a.writes) for a in own]
        others = self.accesses[root]
        if not _compatible(moved, others, index):
            return False
        specs = {spec for spec, _ in candidate.parts}
        for spec in (*specs, root):
            self._count(spec, -1)
        # The node still counts as a reader of the operand; it may be the only one.
        self._replace(root, [*others, *moved])
        self._count(root, 1)
        for spec, offset in candidate.parts:
            spec.inplace_base, spec.inplace_offset = candidate.operand, offset
            self._replace(spec, None)
        return True

    def _replace(self, spec: TensorSpec, accesses: list[_Access] | None) -> None:
        """Sets or, with None, removes the accesses of a storage. The first ones are kept for `_join_all` to restore."""
        if (old := self.accesses.pop(spec, None)) is not None:
            self.replaced.setdefault(spec, old)
        if accesses is not None:
            self.accesses[spec] = accesses


def _compatible(moved: Sequence[_Access], others: Sequence[_Access], index: int) -> bool:
    """Whether no access of one group, after the node at `index`, writes to bytes that the other group needs then or
    later."""
    later = [access for access in others if access.index > index]
    return not any(
        a.touches(b.start, b.end) and ((a.writes and b.index >= a.index) or (b.writes and a.index >= b.index))
        for a in moved
        for b in later
    )


def _offsets(view: Callable[..., Any], node: Node, operand: TensorSpec, results: Sequence[TensorSpec]) -> Iterator[int]:
    """Yields the offset in bytes of each result from the operand's start. Ends at the first result that is not a part
    of the operand."""
    arguments = node.target._schema.arguments
    outs = {argument.name for argument in arguments if argument.is_out}
    kwargs = {name: value for name, value in node.kwargs.items() if name not in outs}
    values: list[Any] = [*node.args[1:], *kwargs.values()]
    if next(filter_nodes(values), None) is not None:
        return
    base = torch.empty_strided(operand.shape, operand.stride, dtype=operand.dtype, device="meta")
    try:
        made = view(base, *node.args[1:], **kwargs)
    except RuntimeError:  # a view of a tensor with this layout is not possible
        return
    for tensor, spec in zip(made if isinstance(made, (list, tuple)) else [made], results, strict=True):
        if tensor.dtype != spec.dtype or list(tensor.shape) != list(spec.shape) or not tensor.numel():
            return
        strides = zip(tensor.shape, tensor.stride(), spec.stride, strict=True)
        if any(size > 1 and found != expected for size, found, expected in strides):
            return
        yield int(tensor.storage_offset()) * tensor.element_size()


def _specs(node: Node) -> list[TensorSpec]:
    return [] if node.op == "output" else get_node_tensor_specs(node)


def _name(node: Node) -> str:
    return node.target.name() if isinstance(node.target, torch._ops.OpOverload) else ""
