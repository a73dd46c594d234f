# SPDX-License-Identifier: BSD-3-Clause
"""Makes a program functional by `torch.export`'s own tracer, where writes through views need it.

Where a program writes to a result of `unbind` or `split`, that tracer fixes all dynamic sizes at the sizes of the
example. Therefore it gets each of these results as a `select` or `slice`, which it handles. If it fixes sizes
nevertheless, an error says so, because the program would refuse inputs that it was exported for.
"""

from __future__ import annotations

import copy
import operator
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from sdk.exir._to_edge._aliases import returns_argument
from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.graph.branch_constants import lift_branch_constants, reads_attributes
from sdk.exir.graph.programs import copy_program
from sdk.exir.operator.aten_rules import aten

_DIM_OF = {
    aten.unbind.int: 1,
    aten.split.Tensor: 2,
    aten.split_with_sizes.default: 2,
    aten.chunk.default: 2,
    aten.tensor_split.sections: 2,
    aten.tensor_split.indices: 2,
}
"""Operators with several views as results, and the place of their dimension among the arguments."""


def retraced(program: ExportedProgram, table: Any, reason: Exception) -> ExportedProgram:
    """A functional program that computes the same; `program` is not changed.

    Args:
        table: The decompositions that are applied.
        reason: Why a second trace is needed; part of the error's text.

    Raises:
        ExportError: The tracer fixed sizes that are dynamic in `program`.
    """
    if reads_attributes(program.graph_module):
        program = copy_program(program)
        lift_branch_constants(program)
    functional = _with_eager_aliases(program).run_decompositions(table)
    if lost := _dynamic_inputs(program) - _dynamic_inputs(functional):
        raise ExportError(
            ExportErrorType.NOT_SUPPORTED,
            f"PyTorch's tracer fixes the dynamic sizes of {', '.join(sorted(lost))} at those of the example inputs "
            f"when it makes this program functional, which is needed because {reason}. Write to a copy (.clone()) "
            "instead of a view, or export without dynamic shapes.",
        )
    return functional


def _dynamic_inputs(program: ExportedProgram) -> set[str]:
    """The user's inputs with a dynamic size."""
    wanted = set(program.graph_signature.user_inputs)
    values = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    return {
        name
        for name, value in values.items()
        if name in wanted
        and isinstance(value, torch.Tensor)
        and any(isinstance(size, torch.SymInt) and not size.node.is_constant() for size in value.shape)
    }


def _with_eager_aliases(program: ExportedProgram) -> ExportedProgram:
    """The program with a `select` or `slice` for each result of an operator that returns several views, and an `alias`
    for each call that returns its argument, because the tracer would return a copy of that. The same object if the
    program has no such calls."""
    if not any(node.target in _DIM_OF or returns_argument(node) for node in _nodes(program.graph_module)):
        return program
    root = copy.deepcopy(program.graph_module)
    for node in _nodes(root):
        if returns_argument(node):
            node.target, node.args, node.kwargs = aten.alias.default, (node.args[0],), {}
        elif node.target in _DIM_OF and all(user.target is operator.getitem for user in node.users):
            _split(node)
    for part in root.modules():
        if isinstance(part, GraphModule):
            part.recompile()
    return ExportedProgram(
        root=root,
        graph=root.graph,
        graph_signature=program.graph_signature,
        state_dict=program.state_dict,
        range_constraints=program.range_constraints,
        module_call_graph=program.module_call_graph,
        example_inputs=program.example_inputs,
        constants=program.constants,
        verifiers=program.verifiers,
    )


def _nodes(module: GraphModule) -> list[Node]:
    """The nodes of a graph and of all graphs in it."""
    return [node for part in module.modules() if isinstance(part, GraphModule) for node in part.graph.nodes]


def _split(node: Node) -> None:
    """Replaces the results of a node that are used."""
    place = _DIM_OF[node.target]
    source = node.args[0]
    dim = node.args[place] if len(node.args) > place else node.kwargs.get("dim", 0)
    sizes = [view.shape[dim] for view in node.meta["val"]] if node.target is not aten.unbind.int else None
    if sizes is not None and not all(isinstance(size, int) for size in sizes):
        return  # a result's place follows from a dynamic size
    for user in list(node.users):
        index = user.args[1]
        with node.graph.inserting_before(user):
            if sizes is None:
                view = node.graph.call_function(aten.select.int, (source, dim, index))
            else:
                start = sum(sizes[:index])
                view = node.graph.call_function(aten.slice.Tensor, (source, dim, start, start + sizes[index]))
        view.meta = dict(user.meta)
        user.replace_all_uses_with(view)
        name = user.name  # the new node takes this name, by which the program's signature may refer to an output
        node.graph.erase_node(user)
        view.name = name
    node.graph.erase_node(node)
