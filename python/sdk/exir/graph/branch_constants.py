# SPDX-License-Identifier: BSD-3-Clause
"""Tensors that branches and loop bodies have as attributes, for example the 2.5 of `x * 2.5`.

torch's serialiser writes tensors only if they are inputs, and its tracer fails on other tensors of branches. Therefore
a tensor of a branch becomes an operand of the operator that calls the branch, and a constant of the program.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from sdk.exir.graph.constants import add_constant
from sdk.exir.graph.fake import fake_mode_of
from sdk.exir.graph.programs import copy_graph_module

GRAPHS: dict[str, tuple[int, ...]] = {
    "cond": (1, 2),
    "map_impl": (0,),
    "scan": (0,),
    "associative_scan": (0,),
    "while_loop": (0, 1),
    "while_loop_stack_output": (0, 1),
    "flex_attention": (3,),
    "wrap_with_set_grad_enabled": (1,),
    "wrap_with_autocast": (4,),
    "hints_wrapper": (0,),
    "strict_mode": (0,),
    "invoke_subgraph": (0,),
    "run_const_graph": (0,),
    "tag_activation_checkpoint": (0,),
}
"""The arguments of a higher-order operator that are graphs."""

_OPERANDS = {
    "cond": 3,
    "map_impl": 2,
    "scan": 3,
    "while_loop": 3,
    "while_loop_stack_output": 3,
    "associative_scan": 2,
    "hints_wrapper": 1,
    "strict_mode": 1,
    "run_const_graph": 1,
}
"""The argument with the list of values that every call of a branch gets as its last inputs."""
_VARIADIC = frozenset(
    ("wrap_with_set_grad_enabled", "wrap_with_autocast", "invoke_subgraph", "tag_activation_checkpoint")
)
"""Operators whose operands are their last arguments, not a list."""


def reads_attributes(module: GraphModule) -> bool:
    """Whether the graph, or one that it calls, reads a tensor that is an attribute."""
    return any(isinstance(part, GraphModule) and any(_tensors(part)) for part in module.modules())


def lift_branch_constants(program: ExportedProgram) -> None:
    """Makes constants of all tensors that are attributes of graphs. Changes `program` and its graphs."""
    module = program.graph_module
    mode = fake_mode_of(module)
    _lift_from_branches(module, mode)
    made: dict[int, Node] = {}
    for node, tensor in list(_tensors(module)):
        if id(tensor) not in made:
            made[id(tensor)] = add_constant(program, mode, f"lifted_from_branch_{len(made)}", tensor)
        _replace(module, node, made[id(tensor)])
    module.recompile()


def _tensors(module: GraphModule) -> Iterator[tuple[Node, torch.Tensor]]:
    for node in module.graph.nodes:
        if node.op == "get_attr":
            value: Any = module
            for part in node.target.split("."):
                value = getattr(value, part, None)
            if isinstance(value, torch.Tensor):
                yield node, value


def _lift_from_branches(module: GraphModule, mode: Any) -> None:
    """Makes attributes of `module`, and operands, of the tensors that its branches have as attributes."""
    called: set[str] = set()
    for node in list(module.graph.nodes):
        if node.op != "call_function" or not isinstance(node.target, torch._ops.HigherOrderOperator):
            continue
        name = node.target.name()
        if name not in _OPERANDS and name not in _VARIADIC:
            continue
        branches = [_own_branch(module, node, index, called) for index in GRAPHS[name]]
        for branch in branches:
            _lift_from_branches(branch, mode)
        values = {id(tensor): tensor for branch in branches for _, tensor in _tensors(branch)}
        if not values:
            continue
        for branch in branches:
            _read_from_inputs(branch, values, mode)
        _add_operands(node, [_attribute(module, node, tensor, mode) for tensor in values.values()])


def _own_branch(module: GraphModule, node: Node, index: int, called: set[str]) -> GraphModule:
    """A branch that only this argument of `node` refers to; `called` has the names of the branches so far."""
    attribute = node.args[index]
    branch = getattr(module, attribute.target)
    if attribute.target in called:
        name = _free_name(module, attribute.target)
        branch = copy_graph_module(branch)
        module.add_module(name, branch)
        with module.graph.inserting_before(node):
            copied = module.graph.get_attr(name)
        copied.meta = dict(attribute.meta)
        node.update_arg(index, copied)
        if not attribute.users:
            module.graph.erase_node(attribute)
        attribute = copied
    called.add(attribute.target)
    return branch


def _read_from_inputs(branch: GraphModule, values: dict[int, torch.Tensor], mode: Any) -> None:
    """Adds an input for each of the values, which the branch reads instead of its attributes."""
    graph = branch.graph
    inputs = {}
    taken = {node.name for node in graph.nodes} | {str(node.target) for node in graph.nodes}
    names = (name for name in map("lifted_{}".format, itertools.count()) if name not in taken)
    first = next(node for node in graph.nodes if node.op != "placeholder")
    for key, tensor in values.items():
        with graph.inserting_before(first):
            inputs[key] = graph.placeholder(next(names))
        inputs[key].meta["val"] = mode.from_tensor(tensor, static_shapes=True)
    for attribute, tensor in list(_tensors(branch)):
        _replace(branch, attribute, inputs[id(tensor)])
    branch.recompile()


def _attribute(module: GraphModule, before: Node, tensor: torch.Tensor, mode: Any) -> Node:
    name = _free_name(module, "_lifted_tensor")
    module.register_buffer(name, tensor)
    with module.graph.inserting_before(before):
        made = module.graph.get_attr(name)
    made.meta["val"] = mode.from_tensor(tensor, static_shapes=True)
    return made


def _add_operands(node: Node, operands: list[Node]) -> None:
    name = node.target.name()
    if name in _VARIADIC:
        node.args = (*node.args, *operands)
        return
    position = _OPERANDS[name]
    args = [*node.args, *[()] * (position + 1 - len(node.args))]
    args[position] = (*args[position], *operands)
    node.args = tuple(args)


def _replace(module: GraphModule, attribute: Node, by: Node) -> None:
    """Replaces a node that reads an attribute, and removes the attribute, which torch would take for a buffer."""
    attribute.replace_all_uses_with(by)
    attribute.graph.erase_node(attribute)
    path, _, name = str(attribute.target).rpartition(".")
    if attribute.target not in {node.target for node in module.graph.nodes if node.op == "get_attr"}:
        delattr(module.get_submodule(path), name)


def _free_name(module: torch.nn.Module, stem: str) -> str:
    index = 0
    while hasattr(module, f"{stem}_{index}"):
        index += 1
    return f"{stem}_{index}"
