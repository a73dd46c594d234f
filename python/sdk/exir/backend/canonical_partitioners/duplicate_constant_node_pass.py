# SPDX-License-Identifier: BSD-3-Clause
"""Gives every user of a constant its own copy, so that several delegates can each own one."""

from __future__ import annotations

import copy

from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, TensorArgument

_CONSTANTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def duplicate_constant_node(exported_program: ExportedProgram, candidate_node: str) -> set[str]:
    """Duplicates the placeholder `candidate_node` for all users but the first. Edits the program; returns the new
    names.

    The copies share the tensor: a program stores equal constants once.
    """
    graph, signature = exported_program.graph, exported_program.graph_signature
    node = next((n for n in graph.nodes if n.op == "placeholder" and n.name == candidate_node), None)
    spec = next((s for s in signature.input_specs if getattr(s.arg, "name", None) == candidate_node), None)
    if node is None or spec is None or spec.kind not in _CONSTANTS:
        raise ValueError(f"{candidate_node!r} is not a parameter, buffer or constant of the program")
    source = exported_program.state_dict if spec.target in exported_program.state_dict else exported_program.constants
    specs, names = list(signature.input_specs), set()
    position = specs.index(spec)
    for i, user in enumerate(list(node.users)[1:]):
        with graph.inserting_after(node):
            duplicate = graph.placeholder(f"{candidate_node}_copy_{i}")
        duplicate.meta = dict(node.meta)
        user.replace_input_with(node, duplicate)
        target = f"{spec.target}_copy_{i}"
        source[target] = source[spec.target]
        new_spec = copy.copy(spec)
        new_spec.arg, new_spec.target = TensorArgument(name=duplicate.name), target
        specs.insert(position + 1, new_spec)
        names.add(duplicate.name)
    signature.input_specs = specs
    exported_program.graph_module.recompile()
    return names
