# SPDX-License-Identifier: BSD-3-Clause
"""Finds the tensors that are known when a program is compiled: weights, and results that are computed only from
weights."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from sdk.exir.backend.utils import constant_placeholders, kept_graphs, shared_constants


@dataclass
class _Known:
    """A cache of answers about a program whose graph does not change."""

    weights: dict[str, torch.Tensor]
    """Weights by the names of their placeholders."""
    inner: dict[Node, torch.Tensor | None] = field(default_factory=dict)
    """The tensor of each placeholder and attribute of branches and loop bodies; None if it is not constant. A name does
    not identify a constant: if a loop starts with a weight, an input that changes in its body has the name of the
    weight."""
    shared: frozenset[Node] = frozenset()
    """The placeholders of branches and loop bodies whose constants other graphs read, too."""
    folds: dict[Node, bool] = field(default_factory=dict)
    computed: dict[Node, torch.Tensor] = field(default_factory=dict)

    def given(self, node: Node) -> torch.Tensor | None:
        """Returns the tensor of a placeholder or attribute, or None if it is not constant."""
        if node in self.inner:
            return self.inner[node]
        return self.weights.get(node.name) if node.op == "placeholder" else None


_GIVEN = ("placeholder", "get_attr")
_settled: WeakKeyDictionary[ExportedProgram, _Known] = WeakKeyDictionary()

# A result may have at most this many times the size of its operands, so that programs do not grow.
_MOST_GROWTH = 4
# Masks and biases of windowed attention are computed from small tensors: those of Swin have 150,000 elements.
_ALWAYS_SMALL = 1 << 18  # elements


@contextmanager
def settled(program: ExportedProgram) -> Iterator[None]:
    """A context in which the graph of `program` does not change, so that answers about it are cached. Without the
    cache, each answer would traverse the whole graph before the node.
    """
    if program in _settled:
        yield
        return
    _settled[program] = _known(program)
    try:
        yield
    finally:
        del _settled[program]


@contextmanager
def unknown(program: ExportedProgram, nodes: Collection[Node]) -> Iterator[None]:
    """A context inside `settled` in which these nodes do not count as constants, for example because a delegate does
    not get their tensors."""
    known = _settled[program]
    weights = {n.name: known.weights.pop(n.name) for n in nodes if n not in known.inner and n.name in known.weights}
    inner = {node: known.inner[node] for node in nodes if node in known.inner}
    known.inner.update(dict.fromkeys(inner))
    folds = {node: is_foldable(program, node) for node in nodes if node.op == "call_function"}
    known.folds.update(dict.fromkeys(folds, False))
    try:
        yield
    finally:
        known.weights.update(weights)
        known.inner.update(inner)
        known.folds.update(folds)


def is_constant(program: ExportedProgram, node: Any) -> bool:
    """Whether `get_constant` gives a tensor; computes nothing."""
    if not isinstance(node, Node):
        return False
    return _known(program).given(node) is not None if node.op in _GIVEN else is_foldable(program, node)


def is_shared(program: ExportedProgram, node: Node) -> bool:
    """Whether a placeholder of a branch or loop body is a constant that another graph of the program reads, too."""
    return node in _known(program).shared


def get_constant(program: ExportedProgram, node: Any) -> torch.Tensor | None:
    """Returns the tensor of a node that is a weight, an unchanged buffer or a constant of the program, or that is
    computed only from such tensors; None for other nodes."""
    if not isinstance(node, Node):
        return None
    with settled(program):
        known = _known(program)
        if node.op in _GIVEN:
            return known.given(node)
        if not is_foldable(program, node):
            return None
        pending = [node]  # a chain may be deeper than Python calls functions
        while pending:
            missing = [n for n in pending[-1].all_input_nodes if n.op not in _GIVEN and n not in known.computed]
            if missing:
                pending += missing
                continue
            call = pending.pop()
            if call not in known.computed:
                known.computed[call] = _compute(known, call)
        return known.computed[node]


def computed_constants(program: ExportedProgram) -> dict[Node, torch.Tensor]:
    """The calls that `get_constant` has computed since `settled` was entered, and their results."""
    return dict(_known(program).computed)


def is_foldable(program: ExportedProgram, node: Node) -> bool:
    """Whether a call computes a tensor only from constants, and the tensor is small or not much larger than its
    operands (`_ALWAYS_SMALL`, `_MOST_GROWTH`)."""
    known = _known(program)
    pending = [node]
    while pending:
        call = pending[-1]
        if call not in known.folds and _folds(call):
            operands = [_operand_folds(known, operand) for operand in call.all_input_nodes]
            if False not in operands and None in operands:
                pending += [n for n, folds in zip(call.all_input_nodes, operands, strict=True) if folds is None]
                continue
            known.folds[call] = False not in operands
        known.folds.setdefault(call, False)
        pending.pop()
    return known.folds[node]


def _operand_folds(known: _Known, operand: Node) -> bool | None:
    """Whether an operand is a constant; None if that is not known yet."""
    return known.given(operand) is not None if operand.op in _GIVEN else known.folds.get(operand)


def _folds(node: Node) -> bool:
    """Whether a call would be foldable (`is_foldable`) if its operands were constants."""
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


def _known(program: ExportedProgram) -> _Known:
    found = _settled.get(program)
    if found is None:
        found = _Known(_weights_of(program))
        if any(isinstance(module, GraphModule) for module in program.graph_module.children()):
            found.inner, found.shared = _inner_constants(program), frozenset(shared_constants(program))
    return found


def _inner_constants(program: ExportedProgram) -> dict[Node, torch.Tensor | None]:
    tensors, constants = {**program.constants, **program.state_dict}, constant_placeholders(program)
    found: dict[Node, torch.Tensor | None] = {}
    _, *branches = kept_graphs(program.graph_module)
    for module in branches:
        for node in module.graph.nodes:
            if node.op == "get_attr" and isinstance(value := getattr(module, str(node.target)), torch.Tensor):
                found[node] = value
            elif node.op == "placeholder":
                found[node] = tensors.get(constants[node].target or "") if node in constants else None
    return found


def _weights_of(program: ExportedProgram) -> dict[str, torch.Tensor]:
    signature = program.graph_signature
    changed = set(signature.buffers_to_mutate.values())
    targets = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    unchanged = {name: target for name, target in targets.items() if target not in changed}
    tensors = {**program.constants, **program.state_dict}
    unchanged.update(signature.inputs_to_lifted_tensor_constants)
    return {name: tensors[target] for name, target in unchanged.items() if target in tensors}


def _compute(known: _Known, node: Node) -> torch.Tensor:
    def tensor_of(argument: Node) -> torch.Tensor:
        given = known.given(argument)
        return known.computed[argument] if given is None else given

    assert callable(node.target)
    args, kwargs = pytree.tree_map_only(Node, tensor_of, (node.args, node.kwargs))
    with torch.no_grad():
        return node.target(*args, **kwargs)
