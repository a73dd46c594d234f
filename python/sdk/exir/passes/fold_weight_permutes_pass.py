# SPDX-License-Identifier: BSD-3-Clause
"""Stores a weight in the memory order that its only reader uses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Node
from torch.nn import Parameter

from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.graph.programs import assemble

_PERMUTES = frozenset({exir_ops.edge.aten.permute_copy.default, torch.ops.aten.permute_copy.default})


def fold_weight_permutes(program: ExportedProgram, keep: Collection[int] = ()) -> ExportedProgram:
    """Returns `program` without the `permute_copy` of weights, which a linear layer would otherwise repeat at every
    call.

    A weight is permuted ahead of time if every use of its memory, under any name, is the same permutation; otherwise it
    would be stored twice. `keep` are weights, by their address, that other methods read in another order. Edits the
    graph of `program`; the tensors of its state dict are not changed.
    """
    signature = program.graph_signature
    state = dict(program.state_dict)
    count = len(program.graph.nodes)
    for memory, weights in _weights_by_memory(program).items():
        order = _common_permutation([node for node, _ in weights])
        if order is None or memory in keep:
            continue
        for node, target in weights:
            # A view: the elements are reordered when the program is written.
            weight = state[target]
            permuted = weight.detach().permute(order)
            state[target] = Parameter(permuted, weight.requires_grad) if isinstance(weight, Parameter) else permuted
            node.meta = {**node.meta, "val": node.meta["val"].permute(order).contiguous()}
            for user in list(node.users):
                user.replace_all_uses_with(node)
                program.graph.erase_node(user)
    if len(program.graph.nodes) != count:
        program.graph_module.recompile()
    return assemble(program, program.graph_module, signature, state_dict=state)


def read_in_several_orders(programs: Iterable[ExportedProgram]) -> set[int]:
    """The weights, by their address, that the methods of a program do not all read in the same order."""
    orders: dict[int, set[tuple[int, ...] | None]] = defaultdict(set)
    for program in programs:
        for memory, weights in _weights_by_memory(program).items():
            order = _common_permutation([node for node, _ in weights])
            orders[memory].add(None if order is None else tuple(order))
    return {memory for memory, found in orders.items() if len(found) > 1}


def _weights_by_memory(program: ExportedProgram) -> dict[int, list[tuple[Node, str]]]:
    """The placeholders of weights that do not change, and their names in the state dict, by the address of their
    memory."""
    signature = program.graph_signature
    changed = set(signature.buffers_to_mutate.values()) | set(getattr(signature, "parameters_to_mutate", {}).values())
    targets = {
        spec.arg.name: spec.target
        for spec in signature.input_specs
        if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER) and spec.target not in changed
    }
    by_memory: dict[int, list[tuple[Node, str]]] = defaultdict(list)
    for node in program.graph.nodes:
        value = program.state_dict.get(targets.get(node.name, "")) if node.op == "placeholder" else None
        if isinstance(value, torch.Tensor) and value.numel():
            by_memory[value.untyped_storage().data_ptr()].append((node, targets[node.name]))
    return by_memory


def _common_permutation(weights: list[Node]) -> list[int] | None:
    """The permutation that is every use of every node of `weights`; None if there are other uses or different
    permutations."""
    orders = set()
    for weight in weights:
        for user in weight.users:
            returned = any(reader.op == "output" for reader in user.users)
            if user.target not in _PERMUTES or user.args[0] is not weight or returned:
                return None
            orders.add(tuple(d % len(user.args[1]) for d in user.args[1]))
    return list(orders.pop()) if len(orders) == 1 else None
