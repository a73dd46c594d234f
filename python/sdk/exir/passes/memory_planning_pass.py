# SPDX-License-Identifier: BSD-3-Clause
"""`MemoryPlanningPass`: the last pass before emission. Gives every tensor of a program its arena and offset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from sdk.exir import memory
from sdk.exir.error import internal_assert
from sdk.exir.memory_planning import (
    MemoryPlanningAlgorithmSuite,
    Verifier,
    _is_out_var_node,
    apply_algo,
    place_on_bases,
)
from sdk.exir.memory_planning._lifetimes import _mutated_placeholders, control_flow_branches
from sdk.exir.tensor import ALIGNMENT, TensorSpec


@dataclass
class _MemoryPlanningState:
    """The plans of a program's methods so far, for memory that they share."""

    graph_modules: list[GraphModule] = field(default_factory=list)
    # Specs of each buffer, by its fully qualified name.
    buffers: dict[str, list[TensorSpec]] = field(default_factory=dict)
    mutated: set[str] = field(default_factory=set)


class MemoryPlanningPass(PassBase):
    """Plans the memory of a graph with out variants.

    Arguments:
        memory_planning_algo: called as `algo(alignment, specs, graph_module, graph_signature, extra_padding)`; sets the
            place of each spec and returns the arenas' sizes in bytes, or returns a `MemoryAlgoResult`.
        allow_lifetime_and_storage_overlap: accept plans in which two tensors share memory while both are needed.
        alloc_graph_input, alloc_graph_output, alloc_mutable_buffers: whether the plan includes them. If not, the
            program's user supplies the memory at run time.
        share_mutable_buffers: a buffer that several methods use gets the same place in all of them, in a separate
            arena, so that they share its state.
        alignment: of each tensor, in bytes; a power of two.
    """

    def __init__(
        self,
        memory_planning_algo: Callable[..., list[int]] | None = None,
        allow_lifetime_and_storage_overlap: bool = False,
        alloc_graph_input: bool = True,
        alloc_graph_output: bool = True,
        alloc_mutable_buffers: bool = True,
        share_mutable_buffers: bool = False,
        alignment: int = ALIGNMENT,
    ) -> None:
        if alignment <= 0 or alignment & (alignment - 1):
            raise ValueError(f"alignment is {alignment}; expected a power of two, in bytes")
        if share_mutable_buffers and not alloc_mutable_buffers:
            raise ValueError("share_mutable_buffers needs alloc_mutable_buffers=True")
        self.memory_planning_algo = memory_planning_algo or MemoryPlanningAlgorithmSuite()
        self.allow_lifetime_and_storage_overlap = allow_lifetime_and_storage_overlap
        self.alloc_graph_input = alloc_graph_input
        self.alloc_graph_output = alloc_graph_output
        self.alloc_mutable_buffers = alloc_mutable_buffers
        self.share_mutable_buffers = share_mutable_buffers
        self.alignment = alignment
        self.enable_non_cpu_memory_planning = False
        self.state = _MemoryPlanningState()

    def call(self, graph_module: GraphModule) -> PassResult:
        return self.run(graph_module)

    def run(self, graph_module: GraphModule, graph_signature: ExportGraphSignature | None = None) -> PassResult:
        """Plans `graph_module`; sizes of the arenas go to `graph_module.meta["non_const_buffer_sizes"]`.

        A subclass may set `node.meta["spec"].mem_id` of any node before it calls this, to choose its arena.
        """
        self._set_alloc_node_spec(graph_module)
        # Buffers that methods share are placed when all methods are known.
        alloc_buffers = self.alloc_mutable_buffers and not self.share_mutable_buffers
        sizes = apply_algo(
            self.memory_planning_algo,
            graph_module,
            self.alignment,
            graph_signature,
            self.alloc_graph_input,
            self.alloc_graph_output,
            alloc_buffers,
            self.enable_non_cpu_memory_planning,
            write_to_mutable_buffers=self.alloc_mutable_buffers,
        )
        graph_module.meta["non_const_buffer_sizes"] = sizes
        if self.share_mutable_buffers and graph_signature is not None:
            self._remember_buffers(graph_module, graph_signature)
        verifier = Verifier(
            graph_module, self.alloc_graph_input, self.alloc_graph_output, alloc_buffers, graph_signature
        )
        verifier.verify_storage_reuse(self.allow_lifetime_and_storage_overlap)
        verifier.verify_graph_input_output()
        return PassResult(graph_module, True)

    def _set_alloc_node_spec(self, graph_module: GraphModule) -> None:
        """Sets the spec of each `memory.alloc` node to that of the result that uses its memory, also in branches."""
        for node in graph_module.graph.nodes:
            for branch in control_flow_branches(graph_module, node):
                self._set_alloc_node_spec(branch)
            if not _is_out_var_node(node):
                continue
            allocs = [arg for arg in node.kwargs.values() if isinstance(arg, Node) and arg.target is memory.alloc]
            spec = node.meta.get("spec")
            internal_assert(spec is not None, f"{node.name} has no spec; run SpecPropPass before memory planning")
            if len(allocs) == 1:
                allocs[0].meta["spec"] = spec
                continue
            internal_assert(
                isinstance(spec, (list, tuple)) and len(spec) == len(allocs),
                f"{node.name} has {len(allocs)} out arguments but the spec {spec}",
            )
            for alloc, alloc_spec in zip(allocs, spec, strict=True):
                alloc.meta["spec"] = alloc_spec

    def _remember_buffers(self, graph_module: GraphModule, signature: ExportGraphSignature) -> None:
        self.state.graph_modules.append(graph_module)
        mutated, buffers = _mutated_placeholders(signature), signature.inputs_to_buffers
        for node in graph_module.graph.nodes:
            if node.op == "placeholder" and node.name in buffers:
                name = buffers[node.name]
                self.state.buffers.setdefault(name, []).append(node.meta["spec"])
                if node.name in mutated:
                    self.state.mutated.add(name)

    def run_multimethod(self) -> None:
        """Places buffers that any method changes, in one arena of all methods. Call after `run` on each of them."""
        if not self.share_mutable_buffers or not self.state.graph_modules:
            return
        sizes = [module.meta["non_const_buffer_sizes"] for module in self.state.graph_modules]
        arena = max(2, *(len(size) for size in sizes))
        offset = 0
        for name in self.state.buffers:
            if name not in self.state.mutated:
                continue
            specs = self.state.buffers[name]
            shapes = {(tuple(spec.shape), spec.dtype) for spec in specs}
            internal_assert(len(shapes) == 1, f"buffer {name!r} differs between methods: {sorted(map(str, shapes))}")
            for spec in specs:
                spec.realign(self.alignment)
                # A method that only reads the buffer must read what another method has written.
                spec.const = False
                spec.mem_id, spec.mem_obj_id, spec.mem_offset = arena, 0, offset
            offset += specs[0].allocated_memory
        for size in sizes:
            size.extend([0] * (arena + 1 - len(size)))
            size[arena] = offset
        for module in self.state.graph_modules:
            module.meta["shared_buffer_arena"] = arena
            place_on_bases(module)
        self.state = _MemoryPlanningState()
