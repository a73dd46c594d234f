# SPDX-License-Identifier: BSD-3-Clause
"""Applies an algorithm to a graph and to the branches inside it; see the package for the terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule, Node

from sdk.exir import memory
from sdk.exir.delegate import delegate_calls
from sdk.exir.memory_planning._algorithms import (
    MemoryAlgoResult,
    _OrderedSpecs,
    apply_result,
)
from sdk.exir.memory_planning._in_place import place_results_on_operands
from sdk.exir.memory_planning._lifetimes import (
    collect_specs_from_nodes,
    control_flow_branches,
    get_node_tensor_specs,
    place_in_storage,
    storage_spec,
    update_all_tensors_lifetime,
)
from sdk.exir.memory_planning._loops import prepare_loops, slices
from sdk.exir.memory_planning._parts import place_parts_on_operands
from sdk.exir.schema import DeviceType, NonConstBufferDevice
from sdk.exir.tensor import TensorSpec


def _delegates_padding(graph_module: GraphModule) -> int:
    """The most bytes that a delegate of this graph may read past the end of a tensor."""
    return max((lowered.memory_padding for _, lowered, _ in delegate_calls(graph_module)), default=0)


@dataclass
class _Branches:
    """The planned graphs of one control flow node: blocks of the parent that hold their memory, one for each arena."""

    blocks: dict[int, TensorSpec] = field(default_factory=dict)
    placed: list[TensorSpec] = field(default_factory=list)
    # Results of a branch and the parent's spec whose memory they use.
    tied: list[tuple[TensorSpec, TensorSpec]] = field(default_factory=list)

    def move_into_parent(self) -> None:
        for spec in self.placed:
            spec.mem_offset += self.blocks[spec.mem_id].mem_offset
        for result, target in self.tied:
            result.mem_id, result.mem_obj_id, result.mem_offset = target.mem_id, target.mem_obj_id, target.mem_offset


def _tie_results(graph_module: GraphModule, node: Node, planned: set[TensorSpec]) -> tuple[list[tuple], bool]:
    """Pairs of a branch's result and the parent's spec for it, and whether all results that need memory are in a pair.

    After a branch, the runtime makes the parent's value refer to the branch's tensor. If both are the same memory, the
    rest of the branch's memory is free as soon as the branch is done. Loops copy their results.
    """
    if node.target.__name__ != "cond":
        return [], True
    tied: list[tuple[TensorSpec, TensorSpec]] = []
    complete = True
    for branch in control_flow_branches(graph_module, node):
        operands = {s for n in branch.graph.nodes if n.op == "placeholder" for s in get_node_tensor_specs(n)}
        used: set[TensorSpec] = set()
        targets = get_node_tensor_specs(node)
        results = get_node_tensor_specs(branch.graph.output_node())
        if len(targets) != len(results):
            return [], False
        for result, target in zip(results, targets, strict=True):
            if result.const or storage_spec(result) in operands:
                continue
            fits = storage_spec(result) is result and result.mem_id in (None, target.mem_id)
            if fits and target in planned and result not in used and result.nbytes() <= target.nbytes():
                tied.append((result, target))
                used.add(result)
            else:
                complete = False
    return tied, complete


class _Planner:
    """Applies an algorithm to a graph and, first, to the branches inside of it."""

    def __init__(self, algo: Callable[..., list[int] | MemoryAlgoResult], alignment: int, use_devices: bool) -> None:
        self.algo = algo
        self.alignment = alignment
        self.use_devices = use_devices
        self.devices: list[NonConstBufferDevice] = []

    def plan(
        self,
        graph_module: GraphModule,
        graph_signature: ExportGraphSignature | None,
        ignored: dict[str, bool],
        elsewhere: Iterable[TensorSpec] = (),
        inputs: Iterable[TensorSpec] = (),
    ) -> tuple[list[int], list[TensorSpec]]:
        """Plans the arenas. Returns their sizes and all specs placed in them, including those of branches, except
        `elsewhere`.

        `inputs` are placed although others are ignored.
        """
        specs = dict.fromkeys(inputs)
        specs.update(dict.fromkeys(collect_specs_from_nodes(graph_module.graph.nodes, graph_signature, **ignored)))
        for spec in elsewhere:
            specs.pop(spec, None)
        all_branches = [
            self._plan_branches(graph_module, index, node, set(specs))
            for index, node in enumerate(graph_module.graph.nodes)
            if control_flow_branches(graph_module, node)
        ]
        placed = list(specs)
        for branches in all_branches:
            specs.update(dict.fromkeys(branches.blocks.values()))
        sizes = self._run(list(specs), graph_module, graph_signature)
        for branches in all_branches:
            branches.move_into_parent()
            placed += branches.placed
            placed += [result for result, _ in branches.tied]
        return sizes, placed

    def _plan_branches(self, graph_module: GraphModule, index: int, node: Node, planned: set[TensorSpec]) -> _Branches:
        ties, complete = _tie_results(graph_module, node, planned)
        branches = _Branches(tied=ties)
        sizes: dict[int, int] = {}
        for branch in control_flow_branches(graph_module, node):
            results = [result for result, _ in ties]
            branch_sizes, placed = self.plan(
                branch, None, {"ignore_graph_input": True}, results, slices(graph_module, node)
            )
            branches.placed += placed
            for mem_id, size in enumerate(branch_sizes):
                sizes[mem_id] = max(size, sizes.get(mem_id, 0))
        end = (
            index
            if complete
            else max((storage_spec(s).lifetime[1] for s in get_node_tensor_specs(node)), default=index)
        )
        for mem_id, size in sizes.items():
            block = TensorSpec(torch.uint8, torch.Size([size]))
            block.mem_id, block.lifetime = mem_id, [index, end]
            if size or mem_id:
                branches.blocks[mem_id] = block
        return branches

    def _run(
        self, specs: list[TensorSpec], graph_module: GraphModule, graph_signature: ExportGraphSignature | None
    ) -> list[int]:
        padding = _delegates_padding(graph_module)
        groups: dict[tuple[DeviceType, int], list[TensorSpec]] = {(DeviceType.CPU, 0): []}
        for spec in specs:
            device = (spec.device, spec.device_index) if self.use_devices else (DeviceType.CPU, 0)
            groups.setdefault(device, []).append(spec)
        sizes: list[int] = [0, 0]
        for (kind, device_index), group in groups.items():
            result = self.algo(self.alignment, _OrderedSpecs(group), graph_module, graph_signature, padding)
            group_sizes = apply_result(result) if isinstance(result, MemoryAlgoResult) else result
            if kind == DeviceType.CPU and device_index == 0:
                sizes = list(group_sizes)
                continue
            # Arenas of other devices come after those of the CPU, whatever their ids within the device are.
            shift = len(sizes) - 1
            for spec in group:
                spec.mem_id += shift
            first = len(sizes)
            sizes += group_sizes[1:]
            self.devices += [NonConstBufferDevice(i, kind, device_index) for i in range(first, len(sizes))]
        return sizes


def apply_algo(
    algo: Callable[..., list[int] | MemoryAlgoResult],
    graph_module: GraphModule,
    alignment: int,
    graph_signature: ExportGraphSignature | None = None,
    alloc_graph_input: bool = True,
    alloc_graph_output: bool = True,
    alloc_mutable_buffers: bool = True,
    enable_non_cpu_memory_planning: bool = False,
    write_to_mutable_buffers: bool | None = None,
) -> list[int]:
    """Plans a graph and its branches; returns the size in bytes of each arena (index = memory id, entry 0 is 0).

    `algo(alignment, specs, graph_module, graph_signature, extra_padding)` is called for each graph, innermost first,
    and either sets the specs' places and returns the sizes or returns a `MemoryAlgoResult`. Inputs, outputs and
    mutable buffers that are not to be allocated are not placed: the caller supplies their memory.
    `write_to_mutable_buffers` says whether new values may be computed in the buffers' memory; by default, if that is
    allocated here.
    """
    write_to_buffers = alloc_mutable_buffers if write_to_mutable_buffers is None else write_to_mutable_buffers
    prepare_loops(graph_module)
    place_results_on_operands(graph_module, graph_signature, with_buffers=write_to_buffers)
    ignored = {
        "ignore_graph_input": not alloc_graph_input,
        "ignore_graph_output": not alloc_graph_output,
        "ignore_mutable_buffers": not alloc_mutable_buffers,
    }
    place_parts_on_operands(graph_module, graph_signature, alignment, **ignored)
    _update_lifetimes(graph_module, graph_signature)
    planner = _Planner(algo, alignment, enable_non_cpu_memory_planning)
    insert_calls_to_free(graph_module)
    sizes, _ = planner.plan(graph_module, graph_signature, ignored)
    graph_module.meta["non_const_buffer_device"] = planner.devices or None
    place_on_bases(graph_module)
    return sizes


def place_on_bases(graph_module: GraphModule) -> None:
    """Copies the planned offset of each base to the specs that share its storage."""
    for node in graph_module.graph.nodes:
        for branch in control_flow_branches(graph_module, node):
            place_on_bases(branch)
        for spec in get_node_tensor_specs(node):
            base, offset = place_in_storage(spec)
            if base is not spec and spec.inplace_base is not None and base.mem_offset is not None:
                spec.mem_id, spec.mem_obj_id, spec.mem_offset = base.mem_id, base.mem_obj_id, base.mem_offset + offset
                spec.lifetime = base.lifetime


def _update_lifetimes(graph_module: GraphModule, graph_signature: ExportGraphSignature | None) -> None:
    """Updates lifetimes, those of branches first: an in-place operator may make the result of a branch one of its
    operands, whose lifetime in the outer graph then includes the uses of the result.
    """
    for node in graph_module.graph.nodes:
        for branch in control_flow_branches(graph_module, node):
            _update_lifetimes(branch, None)
    update_all_tensors_lifetime(graph_module, graph_signature)


def insert_calls_to_free(graph_module: GraphModule, allspecs: Iterable[TensorSpec] | None = None) -> None:
    """Adds `memory.free` after the last use of each tensor that is allocated at run time because its size has no
    bound."""
    if allspecs is None:
        allspecs = collect_specs_from_nodes(graph_module.graph.nodes, ignore_dynamic_unbound_tensor=False)
    unbound = [spec for spec in dict.fromkeys(allspecs) if spec.is_dynamic_unbound_tensor]
    nodes = list(graph_module.graph.nodes)
    for spec in unbound:
        last = nodes[spec.lifetime[1]]
        if last.op != "output":
            with graph_module.graph.inserting_after(last):
                graph_module.graph.call_function(memory.free, (spec,))
    if unbound:
        graph_module.recompile()
