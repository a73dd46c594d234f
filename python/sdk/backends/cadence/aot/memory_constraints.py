# SPDX-License-Identifier: BSD-3-Clause
"""Passes that add constraints to a memory plan: copies that cost nothing if source and result share memory, and buffers
that the DMA engine must reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult

import sdk.backends.cadence.aot.ops_registrations  # noqa: F401  (registers the operators)
from sdk.backends.cadence.aot.pass_utils import (
    ALL_CADENCE_PASSES,
    CadencePassAttribute,
    create_cadence_pass_filter,
    get_arg,
    register_cadence_pass,
)
from sdk.backends.cadence.aot.placement import (
    AbsolutePlacementConstraint,
    MemConstraints,
    RelativePlacementConstraint,
    spec_of,
)
from sdk.backends.cadence.aot.utils import is_node_in_flattened_output
from sdk.exir import memory
from sdk.exir.memory_planning import storage_spec
from sdk.exir.tensor import TensorSpec

__all__ = [
    "AbsolutePlacementConstraint",
    "ConstraintsGenPass",
    "GenerateCatNopConstraints",
    "GenerateIdmaConstraints",
    "GenerateMemConstraints",
    "GenerateMemoryViewConstraints",
    "GenerateSliceAndSelectNopConstraints",
    "MemConstraints",
    "RelativePlacementConstraint",
    "get_relative_offset_of_slice",
    "get_relative_offsets_of_cat_tensors",
]

_ops = torch.ops
_ALIGNMENT = 8
"""The alignment that kernels for HiFi require of operands, in bytes."""
_DMA_MEMORY = 1
"""The id of the memory that the DMA engine can access."""


def get_relative_offsets_of_cat_tensors(cat_tensors: Sequence[Node]) -> list[int]:
    """Returns the offset in bytes of each operand of a concatenation along the outermost dimension, and the end of the
    last one."""
    offsets = [0]
    for node in cat_tensors:
        offsets.append(offsets[-1] + spec_of(node).nbytes())
    return offsets


def get_relative_offset_of_slice(slice_node: Node) -> int:
    """Returns the offset in bytes of a slice or a selection along the outermost dimension in its operand."""
    source = slice_node.args[0]
    assert isinstance(source, Node)
    spec = spec_of(source)
    name = "index" if "select" in str(slice_node.target) else "start"
    dim, start = get_arg(slice_node, "dim") % len(spec.shape), get_arg(slice_node, name) or 0
    size = spec.shape[dim]
    return min(start + size if start < 0 else start, size) * spec.nbytes() // max(size, 1)


def _is_outermost(shape: Sequence[int], dim: int) -> bool:
    return all(size == 1 for size in shape[: dim % max(len(shape), 1)])


def _viewed(node: Any) -> Any:
    """Returns the node whose memory a view uses."""
    while isinstance(node, Node) and node.target is memory.view:
        node = node.args[0]
    return node


def _is_written(node: Node) -> bool:
    """Whether an operator writes to a tensor, or to a view of it, after the tensor has been computed."""
    for user in node.users:
        if user.target is memory.view and _is_written(user):
            return True
        schema = getattr(user.target, "_schema", None)
        for at, argument in enumerate(schema.arguments if schema is not None else ()):
            written = argument.alias_info is not None and argument.alias_info.is_write and not argument.is_out
            if written and at < len(user.args) and user.args[at] is node:
                return True
    return False


def _reused(graph_module: GraphModule) -> set[TensorSpec]:
    """Returns the tensors whose memory the plan reuses for the result of a later operator."""
    specs = (node.meta.get("spec") for node in graph_module.graph.nodes)
    return {
        storage_spec(spec)
        for spec in specs
        if isinstance(spec, TensorSpec) and spec.inplace_base is not None and spec.inplace_offset is None
    }


def _may_share(node: Node, reused: set[TensorSpec]) -> bool:
    """Whether the plan may put another tensor into the memory of a node's tensor."""
    spec = node.meta.get("spec")
    if not isinstance(spec, TensorSpec) or not spec.is_static_shape_tensor:
        return False
    return spec.inplace_base is None and spec not in reused and not _is_written(node)


class _ConstraintPass(PassBase):
    """A pass that adds constraints to the memory plan of a graph."""

    def __init__(self, constraint: MemConstraints) -> None:
        super().__init__()
        self.constraint = constraint

    def generate(self, graph_module: GraphModule) -> bool:
        """Adds the constraints. Returns whether a call changed."""
        raise NotImplementedError

    def call(self, graph_module: GraphModule) -> PassResult:
        """Adds the constraints."""
        changed = self.generate(graph_module)
        if changed:
            graph_module.recompile()
        return PassResult(graph_module, changed)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class GenerateIdmaConstraints(_ConstraintPass):
    """Puts the buffers of the DMA engine into its memory. The result of idma_wait shares the memory of its operand."""

    def generate(self, graph_module: GraphModule) -> bool:
        find = graph_module.graph.find_nodes
        for node in find(op="call_function", target=_ops.cadence.idma_wait.out):
            self.constraint.add_relative_placement_constraint(node.args[0], node)
        for node in find(op="call_function", target=_ops.cadence.idma_load.out):
            self.constraint.add_absolute_placement_constraint(node, _DMA_MEMORY)
        for node in find(op="call_function", target=_ops.cadence.idma_store.out):
            self.constraint.add_absolute_placement_constraint(node.args[0], _DMA_MEMORY)
        return False


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class GenerateMemoryViewConstraints(_ConstraintPass):
    """Lets a view share the memory of its operand. The compiler's own views need no constraint."""

    def generate(self, graph_module: GraphModule) -> bool:
        for node in graph_module.graph.find_nodes(op="call_function", target=memory.view):
            if storage_spec(spec_of(node)) is spec_of(node):
                self.constraint.add_relative_placement_constraint(node.args[0], node)
        return False


@register_cadence_pass(CadencePassAttribute(opt_level=2))
class GenerateSliceAndSelectNopConstraints(_ConstraintPass):
    """Lets a slice or a selection along the outermost dimension share the memory of its operand. The call then has no
    effect, and the program has no instruction for it."""

    _nops = {  # noqa: RUF012
        _ops.aten.slice_copy.Tensor_out: _ops.aten._slice_copy_nop.Tensor_out,
        _ops.aten.select_copy.int_out: _ops.aten._select_copy_nop.int_out,
    }

    def generate(self, graph_module: GraphModule) -> bool:
        reused, changed = _reused(graph_module), False
        for node in graph_module.graph.nodes:
            if node.op != "call_function" or node.target not in self._nops:
                continue
            spec = spec_of(node)
            if spec.inplace_offset is None:  # otherwise, the compiler has already planned it in the operand's memory
                if not self.removable_slice_or_select_op(graph_module, node, reused):
                    continue
                source, offset = _viewed(node.args[0]), get_relative_offset_of_slice(node)
                self.constraint.add_relative_placement_constraint(source, node, offset)
                spec.inplace_base, spec.inplace_offset = spec_of(source), offset
            node.target = self._nops[node.target]
            node.meta["is_placed"] = changed = True
        return changed

    def removable_slice_or_select_op(
        self, graph_module: GraphModule, node: Node, reused: set[TensorSpec] | None = None
    ) -> bool:
        """Whether the result of a call can share the memory of the operand."""
        reused = _reused(graph_module) if reused is None else reused
        source = node.args[0]
        if not isinstance(source, Node) or not all(_may_share(each, reused) for each in (node, _viewed(source))):
            return False
        if self.constraint.is_unallocated_output(graph_module.graph, node):
            return False
        if self.constraint.skipped_spec(spec_of(node)) or not self.constraint.is_memory_planned(_viewed(source)):
            return False
        is_slice = node.target == _ops.aten.slice_copy.Tensor_out
        if not _is_outermost(spec_of(source).shape, get_arg(node, "dim")) or (is_slice and get_arg(node, "step") != 1):
            return False
        aligned = get_relative_offset_of_slice(node) % _ALIGNMENT == 0
        return aligned or is_node_in_flattened_output(graph_module.graph, node)


@register_cadence_pass(CadencePassAttribute(opt_level=2))
class GenerateCatNopConstraints(_ConstraintPass):
    """Lets the operands of a concatenation along the outermost dimension share the memory of its result. The call then
    has no effect, and the program has no instruction for it."""

    def generate(self, graph_module: GraphModule) -> bool:
        reused, changed = _reused(graph_module), False
        for node in graph_module.graph.find_nodes(op="call_function", target=_ops.aten.cat.out):
            if not self.is_removable_cat_op(graph_module, node, reused):
                continue
            node.target = _ops.aten._cat_nop.out
            node.meta["is_placed"] = True
            operands = [_viewed(operand) for operand in node.args[0]]
            for operand, offset in zip(operands, get_relative_offsets_of_cat_tensors(operands), strict=False):
                self.constraint.add_relative_placement_constraint(node, operand, offset)
            changed = True
        return changed

    def is_removable_cat_op(self, graph_module: GraphModule, node: Node, reused: set[TensorSpec] | None = None) -> bool:
        """Whether the operands of a call can share the memory of its result."""
        reused = _reused(graph_module) if reused is None else reused
        if node.op != "call_function" or node.target != _ops.aten.cat.out:
            return False
        dim = get_arg(node, "dim")
        if not all(_is_outermost(spec_of(each).shape, dim) for each in node.args[0]):
            return False
        operands = [_viewed(operand) for operand in node.args[0]]
        if self.constraint.is_unallocated_output(graph_module.graph, node):
            return False
        if not all(_may_share(each, reused) for each in (node, *operands)):
            return False
        if len({spec_of(each).dtype for each in (node, *operands)}) > 1:
            return False
        if self.constraint.contains_unoptimizable_placeholder_or_param(operands):
            return False
        return self._have_own_bytes(operands) and self._are_aligned(graph_module, node, operands)

    def _have_own_bytes(self, operands: Sequence[Node]) -> bool:
        """Whether no operand is part of another tensor and no operand occurs twice."""
        owners: list[Any] = []
        for node in operands:
            info = self.constraint.get_relative_placement_source(node)
            if info is not None and not self.constraint.is_alias_of(info.source, node):
                return False
            owners.append(spec_of(node if info is None else info.source))
        return len(set(owners)) == len(owners)

    @staticmethod
    def _are_aligned(graph_module: GraphModule, node: Node, operands: Sequence[Node]) -> bool:
        if is_node_in_flattened_output(graph_module.graph, node):
            return True
        offsets = get_relative_offsets_of_cat_tensors(operands)
        return all(
            operand.op == "placeholder" or offset % _ALIGNMENT == 0
            for operand, offset in zip(operands, offsets, strict=False)
        )


ConstraintsGenPass = Callable[[MemConstraints], Callable[[GraphModule], "PassResult | None"]]
"""A class of passes that add constraints."""


class GenerateMemConstraints:
    """Runs the passes that add constraints: the passes of this file that the optimisation level includes, and the given
    passes. A given pass that is registered runs only from its level on."""

    passes = (
        GenerateIdmaConstraints,
        GenerateMemoryViewConstraints,
        GenerateSliceAndSelectNopConstraints,
        GenerateCatNopConstraints,
    )

    def __init__(
        self,
        mem_constraints: MemConstraints,
        additional_constraint_gen_passes: Sequence[ConstraintsGenPass] | None = None,
    ) -> None:
        self.mem_constraints = mem_constraints
        self.additional_constraint_gen_passes = list(additional_constraint_gen_passes or ())

    def __call__(self, graph_module: GraphModule) -> PassResult:
        runs = create_cadence_pass_filter(self.mem_constraints.opt_level)
        passes: list[Any] = [*self.passes, *self.additional_constraint_gen_passes]
        for each in passes:
            if each not in ALL_CADENCE_PASSES or runs(each):
                each(self.mem_constraints)(graph_module)
        return PassResult(graph_module, False)
