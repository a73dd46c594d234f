# SPDX-License-Identifier: BSD-3-Clause
"""Weights that are tensor subclasses, as torchao's `quantize_` makes them: their parts become constants of the program,
so that a model can be exported without `torchao.utils.unwrap_tensor_subclass`."""

from __future__ import annotations

from torch.export import ExportedProgram
from torch.fx import Node

from sdk.exir.graph.constants import add_constant, constant_of, drop_unused
from sdk.exir.graph.programs import copy_program

_PART = "export.access_subclass_inner_tensor.default"


def unwrap_subclasses(program: ExportedProgram) -> ExportedProgram:
    """Returns a copy of `program` in which constants replace the calls that read parts of a weight, or `program` itself
    if there are no such calls."""
    if not any(str(node.target) == _PART for node in program.graph.nodes):
        return program
    copied = copy_program(program)
    made: dict[tuple[Node, str], Node] = {}
    for node in list(copied.graph.nodes):
        if str(node.target) != _PART:
            continue
        source, name = node.args
        weight = constant_of(copied, source)
        part = getattr(weight, name, None)
        if part is None:
            continue
        if (source, name) not in made:
            mode = node.meta["val"].fake_mode
            made[source, name] = add_constant(copied, mode, f"{source.name}_{name}", part.detach())
        node.replace_all_uses_with(made[source, name])
        copied.graph.erase_node(node)
    drop_unused(copied)
    copied.graph_module.recompile()
    return copied
