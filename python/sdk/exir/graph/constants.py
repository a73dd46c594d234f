# SPDX-License-Identifier: BSD-3-Clause
"""The weights and constants of a program: finding, adding and dropping them."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, TensorArgument
from torch.fx import Node

_LIFTED = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def constant_of(program: ExportedProgram, node: Any) -> torch.Tensor | None:
    """The tensor of a weight or constant that the program does not write; None for other nodes."""
    if not isinstance(node, Node):
        return None
    signature = program.graph_signature
    target = next((s.target for s in signature.input_specs if s.kind in _LIFTED and s.arg.name == node.name), None)
    if target is None or target in signature.buffers_to_mutate.values():
        return None
    return program.state_dict[target] if target in program.state_dict else program.constants.get(target)


def add_constant(program: ExportedProgram, mode: Any, target: str, tensor: torch.Tensor) -> Node:
    """Adds a constant before the inputs of the user, as signatures require, and returns its node. `mode` is the mode of
    the program's fake tensors. Changes `program`."""
    specs = program.graph_signature.input_specs
    position = next((i for i, spec in enumerate(specs) if spec.kind not in _LIFTED), len(specs))
    while target in program.constants:
        target += "_"
    graph = program.graph_module.graph
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    after = placeholders[position] if position < len(placeholders) else next(iter(graph.nodes))
    with graph.inserting_before(after):
        node = graph.placeholder(f"c_{target}")
    node.meta["val"] = mode.from_tensor(tensor, static_shapes=True)
    specs.insert(position, InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), target, None))
    program.constants[target] = tensor
    return node


def drop_unused(program: ExportedProgram) -> None:
    """Removes unused weights and constants. For example, the parts of a tensor subclass are read instead of the
    subclass, which has no memory that could be written to the file. Changes `program`."""
    placeholders = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    specs = program.graph_signature.input_specs
    for spec in list(specs):
        if spec.kind in _LIFTED and not placeholders[spec.arg.name].users and spec.target is not None:
            if spec.target in program.graph_signature.buffers_to_mutate.values():
                continue
            program.graph_module.graph.erase_node(placeholders[spec.arg.name])
            specs.remove(spec)
            kept = {other.target for other in specs}
            for store in (program.state_dict, program.constants):
                if spec.target not in kept:
                    store.pop(spec.target, None)
