# SPDX-License-Identifier: BSD-3-Clause
"""What of a program is known when it is compiled: weights, and what is computed from nothing but them."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.utils import _pytree as pytree

_computed: WeakKeyDictionary[ExportedProgram, dict[Node, torch.Tensor | None]] = WeakKeyDictionary()

# Results are not larger than this many times what they are made of, so that a program does not grow.
_MOST_GROWTH = 4
_ALWAYS_SMALL = 1 << 14  # elements


def is_constant(program: ExportedProgram, node: Any) -> bool:
    """Whether `get_constant` gives a tensor; computes nothing."""
    if not isinstance(node, Node):
        return False
    return _of_placeholder(program, node) is not None if node.op == "placeholder" else is_foldable(program, node)


def get_constant(program: ExportedProgram, node: Any) -> torch.Tensor | None:
    """The tensor of a node that stands for a weight, an unchanged buffer or a constant of the program, or that is
    computed from such."""
    if not isinstance(node, Node):
        return None
    if node.op == "placeholder":
        return _of_placeholder(program, node)
    if not is_foldable(program, node):
        return None
    known = _computed.setdefault(program, {})
    pending = [node]  # a chain may be deeper than Python calls functions
    while pending:
        missing = [n for n in pending[-1].all_input_nodes if n.op != "placeholder" and n not in known]
        if missing:
            pending += missing
            continue
        call = pending.pop()
        if call not in known:
            known[call] = _compute(program, call, known)
    return known[node]


def is_foldable(program: ExportedProgram, node: Node) -> bool:
    """Whether a call computes a tensor, no larger than its operands, from constants alone."""
    seen, pending = {node}, [node]
    while pending:
        call = pending.pop()
        if not _folds(call):
            return False
        for operand in call.all_input_nodes:
            if operand.op == "placeholder":
                if _of_placeholder(program, operand) is None:
                    return False
            elif operand not in seen:
                seen.add(operand)
                pending.append(operand)
    return True


def _folds(node: Node) -> bool:
    """Whether a call would compute a tensor that is no larger than its operands, if they were constants."""
    operator = getattr(node.target, "_op", None)
    if node.op != "call_function" or not isinstance(operator, torch._ops.OpOverload):
        return False
    if operator._schema.is_mutable or torch.Tag.nondeterministic_seeded in operator.tags:
        return False
    values = [n.meta.get("val") for n in (node, *node.all_input_nodes)]
    if not all(isinstance(v, torch.Tensor) and all(isinstance(size, int) for size in v.shape) for v in values):
        return False
    result, *operands = (value.numel() for value in values)
    return result <= max(_MOST_GROWTH * sum(operands), _ALWAYS_SMALL)


def _of_placeholder(program: ExportedProgram, node: Node) -> torch.Tensor | None:
    signature = program.graph_signature
    for names in (signature.inputs_to_parameters, signature.inputs_to_buffers):
        if node.name in names:
            target = names[node.name]
            if target in signature.buffers_to_mutate.values():
                return None
            return program.state_dict[target] if target in program.state_dict else program.constants[target]
    target = signature.inputs_to_lifted_tensor_constants.get(node.name)
    return program.constants[target] if target is not None else None


def _compute(program: ExportedProgram, node: Node, known: dict[Node, torch.Tensor | None]) -> torch.Tensor:
    def tensor_of(argument: Node) -> torch.Tensor | None:
        return _of_placeholder(program, argument) if argument.op == "placeholder" else known[argument]

    assert callable(node.target)
    args, kwargs = pytree.tree_map_only(Node, tensor_of, (node.args, node.kwargs))
    with torch.no_grad():
        return node.target(*args, **kwargs)
