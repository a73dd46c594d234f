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
    if node not in known:
        known[node] = _compute(program, node)
    return known[node]


def is_foldable(program: ExportedProgram, node: Node) -> bool:
    """Whether a call computes a tensor, no larger than its operands, from constants alone."""
    operator = getattr(node.target, "_op", None)
    if node.op != "call_function" or not isinstance(operator, torch._ops.OpOverload):
        return False
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or not all(isinstance(size, int) for size in value.shape):
        return False
    if operator._schema.is_mutable or torch.Tag.nondeterministic_seeded in operator.tags:
        return False
    operands = node.all_input_nodes
    if not all(is_constant(program, operand) for operand in operands):
        return False
    elements = sum(operand.meta["val"].numel() for operand in operands)
    return value.numel() <= max(_MOST_GROWTH * elements, _ALWAYS_SMALL)


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


def _compute(program: ExportedProgram, node: Node) -> torch.Tensor:
    def tensor_of(argument: Any) -> Any:
        return get_constant(program, argument) if isinstance(argument, Node) else argument

    assert callable(node.target)
    args, kwargs = pytree.tree_map_only(Node, tensor_of, (node.args, node.kwargs))
    with torch.no_grad():
        return node.target(*args, **kwargs)
