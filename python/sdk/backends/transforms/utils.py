# SPDX-License-Identifier: BSD-3-Clause
"""Functions for passes that add or remove constants and state of an exported program."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, OutputKind, OutputSpec, TensorArgument
from torch.fx import Graph, Node

from sdk.exir.graph.fake import fake_mode_of

_STATE = (InputKind.PARAMETER, InputKind.BUFFER)
_CONSTANTS = (*_STATE, InputKind.CONSTANT_TENSOR)


def is_get_attr_node(node: Node) -> bool:
    """Whether a node is an attribute of the graph module."""
    return isinstance(node, Node) and node.op == "get_attr"


def is_param_node(exp_prog: ExportedProgram, node: Node) -> bool:
    """Whether a node is a parameter, a buffer, a constant or an attribute of the graph module."""
    return is_get_attr_node(node) or _spec_of(exp_prog, node) is not None


def get_param_tensor(exp_prog: ExportedProgram, node: Node | None) -> torch.Tensor | None:
    """The tensor of a node for which `is_param_node` is true; None for None. Raises RuntimeError for any other node."""
    if node is None:
        return None
    if is_get_attr_node(node):
        found: Any = exp_prog.graph_module
        for part in str(node.target).split("."):
            found = getattr(found, part)
        return found
    spec = _spec_of(exp_prog, node)
    if spec is None:
        raise RuntimeError(f"{node.name} ({node.op}) is not a parameter, a buffer or a constant of the program")
    return exp_prog.state_dict[spec.target] if spec.target in exp_prog.state_dict else exp_prog.constants[spec.target]


def create_constant_placeholder(
    exp_program: ExportedProgram,
    graph: Graph,
    name: str,
    kind: InputKind,
    data: torch.Tensor,
    persistent_buffer: bool | None = None,
) -> Node:
    """Adds a parameter, a buffer or a constant tensor called `name`, and returns its placeholder.

    Call it within `graph.inserting_before(...)` of an input, so that the placeholder comes before the user's inputs. A
    buffer needs `persistent_buffer`; a buffer that is not persistent is not in the state dict. Raises ValueError for
    any other kind and for a name that is already used.
    """
    if kind not in _CONSTANTS:
        raise ValueError(f"kind is {kind}; expected PARAMETER, BUFFER or CONSTANT_TENSOR")
    if kind == InputKind.BUFFER and persistent_buffer is None:
        raise ValueError(f"the buffer {name!r} needs persistent_buffer=True or False")
    if name in exp_program.state_dict or name in exp_program.constants:
        raise ValueError(f"the program has a parameter, buffer or constant {name!r} already")
    node = _placeholder(exp_program, graph, name, data)
    persistent = persistent_buffer if kind == InputKind.BUFFER else None
    _insert_spec(exp_program, node, InputSpec(kind, TensorArgument(node.name), name, persistent))
    if kind == InputKind.PARAMETER:
        exp_program.state_dict[name] = torch.nn.Parameter(data, requires_grad=False)
    else:
        (exp_program.state_dict if persistent else exp_program.constants)[name] = data
    return node


def delete_constant_placeholder(exp_program: ExportedProgram, node: Node) -> None:
    """Removes a parameter, buffer or constant that no node reads. Raises ValueError for any other node."""
    spec = _spec_of(exp_program, node)
    if spec is None:
        raise ValueError(f"{node.name} is not a parameter, buffer or constant of the program")
    if node.users:
        raise ValueError(f"{node.name} cannot be deleted: {', '.join(user.name for user in node.users)} read it")
    others = [other for other in exp_program.graph_signature.input_specs if other is not spec]
    exp_program.graph_signature.input_specs[:] = others
    if all(other.target != spec.target for other in others):
        exp_program.state_dict.pop(str(spec.target), None)
        exp_program.constants.pop(str(spec.target), None)
    node.graph.erase_node(node)


def create_mutable_buffer(exp_program: ExportedProgram, name: str, data: torch.Tensor) -> Node:
    """Adds a buffer that the program changes, and returns its placeholder, which comes after the other buffers.

    `name` is the name of the placeholder; the buffer's name is the same without a leading `b_`. The new value of the
    buffer becomes an output of the graph, in front of the user's. It is the buffer itself until a pass replaces it.
    """
    target = name.removeprefix("b_")
    if target in exp_program.state_dict or target in exp_program.constants:
        raise ValueError(f"the program has a parameter, buffer or constant {target!r} already")
    graph, signature = exp_program.graph, exp_program.graph_signature
    kinds = [spec.kind for spec in signature.input_specs]
    behind = next((i for i, kind in enumerate(kinds) if kind not in _STATE), len(kinds))
    placeholders = list(graph.find_nodes(op="placeholder"))
    before = placeholders[behind] if behind < len(placeholders) else _first_call(graph)
    with graph.inserting_before(before):
        node = _placeholder(exp_program, graph, name, data)
    _insert_spec(exp_program, node, InputSpec(InputKind.BUFFER, TensorArgument(node.name), target, True))
    exp_program.state_dict[target] = data
    outputs = signature.output_specs
    place = next((i for i, spec in enumerate(outputs) if spec.kind == OutputKind.USER_OUTPUT), 0)
    outputs.insert(place, OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument(node.name), target))
    values = list(graph.output_node().args[0])
    graph.output_node().args = ((*values[:place], node, *values[place:]),)
    return node


def _first_call(graph: Graph) -> Node:
    return next(node for node in graph.nodes if node.op != "placeholder")


def _placeholder(exp_program: ExportedProgram, graph: Graph, name: str, data: torch.Tensor) -> Node:
    mode = fake_mode_of(exp_program.graph_module)
    node = graph.create_node("placeholder", name, name=name)
    node.meta["val"] = mode.from_tensor(data, static_shapes=True)
    return node


def _insert_spec(exp_program: ExportedProgram, node: Node, spec: InputSpec) -> None:
    """Inserts a spec at the position of its placeholder among the inputs."""
    names = [other.name for other in node.graph.nodes if other.op == "placeholder"]
    exp_program.graph_signature.input_specs.insert(names.index(node.name), spec)


def _spec_of(exp_program: ExportedProgram, node: Node) -> InputSpec | None:
    if not isinstance(node, Node) or node.op != "placeholder":
        return None
    specs = exp_program.graph_signature.input_specs
    found = next((spec for spec in specs if getattr(spec.arg, "name", None) == node.name), None)
    return found if found is not None and found.kind in _CONSTANTS else None
