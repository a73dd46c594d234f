# SPDX-License-Identifier: BSD-3-Clause
"""Lets custom operators write to their arguments again: replaces each `auto_functionalized_v2` by a call of its
operator.

The operator then updates a cache in place, as in the model. If the old value is read later, the operator writes to a
copy instead.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import TensorArgument
from torch.fx import Graph, GraphModule, Node

from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.dialects.edge._ops import EdgeOpOverload
from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.operator.aten_rules import MATERIALISE_ORDER
from sdk.exir.operator.custom_mutation import mutated_names

_CALL = torch.ops.higher_order.auto_functionalized_v2


@dataclass
class Restored:
    """The number of calls that write in place again, and the number of old values that are copied because they are read
    later."""

    calls: int = 0
    copies: int = 0

    def __bool__(self) -> bool:
        return self.calls > 0


def restore_custom_mutations(program: ExportedProgram) -> Restored:
    """Edits the graphs of `program` and the names of its outputs."""
    restored = Restored()
    for module in program.graph_module.modules():
        if isinstance(module, GraphModule):
            calls = module.graph.find_nodes(op="call_function", target=_CALL)
            restored.calls += len(calls)
            restored.copies += sum(_restore(module.graph, node) for node in calls)
            if calls:
                module.recompile()
    if not restored:
        return restored
    output = program.graph.output_node()
    for value, spec in zip(output.args[0], program.graph_signature.output_specs, strict=True):
        if isinstance(value, Node) and isinstance(spec.arg, TensorArgument):
            spec.arg = TensorArgument(name=value.name)
    return restored


def _restore(graph: Graph, node: Node) -> int:
    op = node.args[0]
    kwargs = dict(node.kwargs)
    bases = list(kwargs.pop("_all_bases"))
    copies = 0
    with graph.inserting_before(node):
        for i, base in enumerate(bases):
            if _is_read_later(graph, base, node):
                bases[i] = _copy_of(graph, base)
                copies += 1
        for name in mutated_names(op):
            place = kwargs.pop(f"_{name}_base_index", None)
            parts = [key for key in kwargs if key.startswith(f"_{name}_")]
            if parts:
                raise ExportError(
                    ExportErrorType.NOT_SUPPORTED,
                    f"{op} writes to a view of a tensor ({', '.join(sorted(parts))}), which a program has no memory "
                    f"for. Give it the whole tensor as {name}.",
                )
            kwargs[name] = None if place is None else bases[place]
        names = [a.name for a in op._schema.arguments if not a.kwarg_only]
        call = graph.call_function(op, tuple(kwargs.pop(name) for name in names), kwargs)
    count = max(len(op._schema.returns), 1)
    results = tuple(node.meta["val"][:count])
    call.meta = {**node.meta, "val": results if len(op._schema.returns) > 1 else results[0]}
    for user in list(node.users):
        place = _place(user)
        if place >= count:
            user.replace_all_uses_with(bases[place - count])
        elif len(op._schema.returns) > 1:
            user.replace_input_with(node, call)
            continue
        else:
            user.replace_all_uses_with(call)
        graph.erase_node(user)
    graph.erase_node(node)
    return copies


def _place(user: Node) -> int:
    if user.target is not operator.getitem:
        raise ExportError(
            ExportErrorType.NOT_SUPPORTED, f"node {user.name} uses all results of auto_functionalized_v2 at once"
        )
    place: Any = user.args[1]
    return int(place)


def _is_read_later(graph: Graph, value: Node, call: Node) -> bool:
    """Whether `value`, or a value to which a later pass may give the same memory, is read after `call`."""
    order = {node: i for i, node in enumerate(graph.nodes)}
    pending, seen = [value], {value}
    while pending:
        for user in pending.pop().users:
            if order[user] > order[call]:
                return True
            if user is not call and user not in seen and _may_share(user):
                seen.add(user)
                pending.append(user)
    return False


def _may_share(node: Node) -> bool:
    if node.op != "call_function":
        return False
    if node.target is operator.getitem:
        return True  # a part of a split tensor
    target = node.target._op if isinstance(node.target, EdgeOpOverload) else node.target
    return target in MATERIALISE_ORDER


def _copy_of(graph: Graph, value: Node) -> Node:
    val = value.meta["val"]
    copy = graph.call_function(
        exir_ops.edge.dim_order_ops._clone_dim_order.default, (value,), {"dim_order": list(val.dim_order())}
    )
    copy.meta = {key: entry for key, entry in value.meta.items() if key != "spec"}
    return copy
