# SPDX-License-Identifier: BSD-3-Clause
"""Finds the constants of a program where they are used: in its graph, and in the branches and bodies of its control
flow.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, OutputKind
from torch.fx import GraphModule, Node

from sdk.exir.graph_module import get_control_flow_submodules

_OPERANDS: dict[str, tuple[int, ...]] = {"cond": (3,), "map_impl": (1, 2), "scan": (1, 2, 3), "while_loop": (2, 3)}
"""For each control-flow operator, the arguments that are lists of values and become, in order, the inputs of its
branches. The values of the last list do not change between calls of a branch."""

WEIGHTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def kept_graphs(graph_module: GraphModule) -> Iterator[GraphModule]:
    """The graph and its branches, outermost first, without the branches of operators that are tagged for a backend."""
    yield graph_module
    seen: set[str] = set()
    for name, submodule, node in get_control_flow_submodules(graph_module):
        if name not in seen and "delegation_tag" not in node.meta:
            seen.add(name)
            yield from kept_graphs(submodule)


def constant_placeholders(program: ExportedProgram) -> dict[Node, InputSpec]:
    """For each placeholder whose value is known ahead of time: which parameter, buffer or constant it is.

    Placeholders of branches are included, because branches receive weights as operands. Buffers that the program
    writes to are not.
    """
    written = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION)
    mutated = {s.target for s in program.graph_signature.output_specs if s.kind in written}
    specs = {
        s.arg.name: s
        for s in program.graph_signature.input_specs
        if s.kind in WEIGHTS and s.target not in mutated and hasattr(s.arg, "name")
    }
    found = {n: specs[n.name] for n in program.graph.nodes if n.op == "placeholder" and n.name in specs}
    _add_branches(program.graph_module, found)
    return found


def _add_branches(module: GraphModule, found: dict[Node, InputSpec]) -> None:
    for node, branches in _calls(module):
        for value, placeholders in zip(_fixed_operands(node), _fixed_inputs(node, branches), strict=True):
            if value in found:
                found.update(dict.fromkeys(placeholders, found[value]))
        for branch in branches:
            _add_branches(branch, found)


def _calls(module: GraphModule) -> list[tuple[Node, list[GraphModule]]]:
    """Control-flow operators with their branches, except those that are tagged or share a branch with another one."""
    by_node: dict[Node, list[tuple[str, GraphModule]]] = {}
    callers: dict[str, set[Node]] = {}
    for name, branch, node in get_control_flow_submodules(module):
        by_node.setdefault(node, []).append((name, branch))
        callers.setdefault(name, set()).add(node)
    return [
        (node, list(dict(branches).values()))
        for node, branches in by_node.items()
        if "delegation_tag" not in node.meta and all(len(callers[name]) == 1 for name, _ in branches)
    ]


def _fixed_operands(node: Node) -> list[Node]:
    lists = _OPERANDS[node.target.name()]
    return list(node.args[lists[-1]]) if len(node.args) > lists[-1] else []


def _fixed_inputs(node: Node, branches: list[GraphModule]) -> list[tuple[Node, ...]]:
    """For each fixed operand, the placeholders of the branches that receive it."""
    first = sum(len(node.args[i]) for i in _OPERANDS[node.target.name()][:-1])
    inputs = [[n for n in branch.graph.nodes if n.op == "placeholder"][first:] for branch in branches]
    return list(zip(*inputs, strict=True))


def drop_unused_operands(module: GraphModule, owned: set[Node]) -> None:
    """Removes operands that no branch uses any more because a backend owns their values; edits `module`.

    `owned` are the placeholders that backends took over. Branches that passed such a value on to an inner branch are
    added.
    """
    for node, branches in _calls(module):
        for branch in branches:
            drop_unused_operands(branch, owned)
        operands = _fixed_operands(node)
        inputs = _fixed_inputs(node, branches)
        gone = [
            i
            for i, placeholders in enumerate(inputs)
            if not any(p.users for p in placeholders) and any(p in owned for p in placeholders)
        ]
        if not gone:
            continue
        for i in gone:
            for placeholder in inputs[i]:
                placeholder.graph.erase_node(placeholder)
        position = _OPERANDS[node.target.name()][-1]
        kept = type(node.args[position])(v for i, v in enumerate(operands) if i not in gone)
        node.update_arg(position, kept)
        owned.update(operands[i] for i in gone if isinstance(operands[i], Node) and not operands[i].users)
        for branch in branches:
            branch.recompile()


def tags_of_constants(program: ExportedProgram) -> dict[Node, str]:
    """The tag of each constant that only nodes of one tag, in one graph, use."""
    found = {}
    for nodes in _uses(constant_placeholders(program)).values():
        tags = {user.meta.get("delegation_tag") for user in nodes[0].users}
        if len(nodes) == 1 and len(tags) == 1 and None not in tags:
            found[nodes[0]] = tags.pop()
    return found


def shared_constants(program: ExportedProgram) -> set[Node]:
    """The placeholders of branches whose constants another graph of the program reads, too."""
    uses = _uses(constant_placeholders(program)).values()
    return {node for nodes in uses if len(nodes) > 1 for node in nodes if node.graph is not program.graph}


def _uses(constants: dict[Node, InputSpec]) -> dict[str, list[Node]]:
    """For each constant, the placeholders that are read, at most one in each graph."""
    found: dict[str, list[Node]] = {}
    for node, spec in constants.items():
        if not all(_only_passes_on(user, node) for user in node.users):
            found.setdefault(str(spec.target), []).append(node)
    return found


def _only_passes_on(user: Node, value: Node) -> bool:
    target = user.target
    if not isinstance(target, torch._ops.HigherOrderOperator) or target.name() not in _OPERANDS:
        return False
    if "delegation_tag" in user.meta:
        return False
    return value in _fixed_operands(user)
