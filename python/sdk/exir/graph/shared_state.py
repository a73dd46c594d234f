# SPDX-License-Identifier: BSD-3-Clause
"""Buffers that one method changes and another only reads.

Methods may share their state (`MemoryPlanningPass(share_mutable_buffers=True)`). For the method that only reads such a
buffer it is still no constant: a backend would keep its first value.
"""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, OutputSpec, TensorArgument

from sdk.exir.graph.programs import copy_program


def keep_state_of_other_methods(methods: dict[str, ExportedProgram]) -> dict[str, ExportedProgram]:
    """The programs, in which each buffer that another method changes is state: a method that only reads it returns the
    buffer itself as its new value, and writes nothing."""
    if len(methods) < 2:
        return methods
    changed = {
        (target, *_kind(program, target))
        for program in methods.values()
        for target in program.graph_signature.buffers_to_mutate.values()
    }
    return {name: _keep(program, changed) for name, program in methods.items()}


def _kind(program: ExportedProgram, target: str) -> tuple[torch.Size, torch.dtype]:
    """What tells a buffer from another one of the same name, in a method of another module."""
    tensor = program.state_dict.get(target, program.constants.get(target))
    assert isinstance(tensor, torch.Tensor)
    return tensor.shape, tensor.dtype


def _keep(program: ExportedProgram, changed: set[tuple[str, torch.Size, torch.dtype]]) -> ExportedProgram:
    own = set(program.graph_signature.buffers_to_mutate.values())
    read = [
        (spec.target, spec.arg.name)
        for spec in program.graph_signature.input_specs
        if spec.kind == InputKind.BUFFER and spec.target is not None and spec.target not in own
    ]
    kept = [(target, name) for target, name in read if (target, *_kind(program, target)) in changed]
    if not kept:
        return program
    copied = copy_program(program)
    graph = copied.graph_module.graph
    nodes = {node.name: node for node in graph.find_nodes(op="placeholder")}
    output = graph.output_node()
    output.args = ((*(nodes[name] for _, name in kept), *output.args[0]),)
    if "val" in output.meta:
        output.meta["val"] = (*(nodes[name].meta["val"] for _, name in kept), *output.meta["val"])
    copied.graph_signature.output_specs[:0] = [
        OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument(name), target) for target, name in kept
    ]
    copied.graph_module.recompile()
    return copied
