# SPDX-License-Identifier: BSD-3-Clause
"""State that methods of a program share (`MemoryPlanningPass(share_mutable_buffers=True)`).

A buffer that one method changes must not be a constant in a method that only reads it, because a backend would keep
its first value. Nor may a delegate keep such a buffer as its own state.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, OutputSpec, TensorArgument

from sdk.exir.delegate import delegate_calls
from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.graph.programs import copy_program

_Buffer = tuple[str, torch.Size, torch.dtype]
"""Name, sizes and dtype: they distinguish buffers of the same name in methods of different modules."""


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


def refuse_shared_state_in_delegates(methods: dict[str, ExportedProgram]) -> None:
    """Raises ExportError if a delegate keeps a buffer as its own state while another method uses this buffer too."""
    kept = [(name, backend, buffer) for name, program in methods.items() for backend, buffer in _kept_state(program)]
    for name, backend, buffer in kept:
        other = next((m for m, program in methods.items() if m != name and buffer in _used_buffers(program)), None)
        if other is not None:
            raise ExportError(
                ExportErrorType.NOT_SUPPORTED,
                f"the methods {name!r} and {other!r} cannot share the buffer {buffer[0]!r} (share_mutable_buffers="
                f"True): in {name!r} a delegate of {backend} keeps it as its own state, which other methods do not "
                "see. Lower with a partitioner that leaves buffers outside of its delegates (for example with "
                "take_over_mutable_buffer=False), or plan without share_mutable_buffers, so that each method has "
                "its own state.",
            )


def _kept_state(program: ExportedProgram) -> Iterator[tuple[str, _Buffer]]:
    """The buffers that delegates of a program change and keep, each with the backend's name."""
    for _, lowered, _ in delegate_calls(program.graph_module):
        inside = lowered.original_module
        changed = set(inside.graph_signature.buffers_to_mutate.values())
        yield from ((lowered.backend_id, buffer) for buffer in _read_buffers(inside) if buffer[0] in changed)


def _used_buffers(program: ExportedProgram) -> set[_Buffer]:
    """The buffers that a program or its delegates read or change."""
    delegated = (lowered.original_module for _, lowered, _ in delegate_calls(program.graph_module))
    return {buffer for each in (program, *delegated) for buffer in _read_buffers(each)}


def _read_buffers(program: ExportedProgram) -> Iterator[_Buffer]:
    buffers = program.graph_signature.inputs_to_buffers
    for node in program.graph.find_nodes(op="placeholder"):
        # Export gives a method the buffers of its module that it does not use, too.
        if node.name in buffers and any(user.op != "output" for user in node.users):
            yield buffers[node.name], node.meta["val"].shape, node.meta["val"].dtype


def _kind(program: ExportedProgram, target: str) -> tuple[torch.Size, torch.dtype]:
    tensor = program.state_dict.get(target, program.constants.get(target))
    assert isinstance(tensor, torch.Tensor)
    return tensor.shape, tensor.dtype


def _keep(program: ExportedProgram, changed: set[_Buffer]) -> ExportedProgram:
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
