# SPDX-License-Identifier: BSD-3-Clause
"""Gives out variants the scratch memory that they ask for, as tensors that the planner places."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir import memory
from sdk.exir.operator.manip import ScratchTensorMetadata, scratch_argument_names
from sdk.exir.tensor import TensorSpec


def to_scratch_op_pass(graph_module: GraphModule) -> PassResult:
    """Adds scratch tensors to calls of operators that have an overload with more out arguments than results, and a
    function that returns the sizes of the scratch tensors (`attach_get_scratch_metas_fn`).

    Run it after `ToOutVarPass`. Operators without scratch arguments stay as they are.
    """
    changed = False
    for module in graph_module.modules():
        if isinstance(module, GraphModule):
            for node in list(module.graph.nodes):
                changed |= _add_scratch(module, node)
    return PassResult(graph_module, changed)


def _add_scratch(module: GraphModule, node: Node) -> bool:
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return False
    scratch = _scratch_variant(node.target)
    if scratch is None:
        return False
    get_metas = getattr(node.target, "get_scratch_metas", None)
    if get_metas is None:
        raise RuntimeError(
            f"{node.target} has the variant {scratch} with scratch memory, but nothing says how much it needs. "
            "Decorate a function that does with "
            f"sdk.exir.operator.manip.attach_get_scratch_metas_fn({node.target}), and import its module first."
        )
    args, kwargs = torch.fx.node.map_aggregate(
        (node.args, node.kwargs), lambda a: a.meta.get("val") if isinstance(a, Node) else a
    )
    metas: dict[str, ScratchTensorMetadata] = get_metas(*args, **kwargs)
    names = scratch_argument_names(scratch)
    if set(metas) != set(names):
        raise RuntimeError(f"{scratch} takes the scratch tensors {sorted(names)}, but {sorted(metas)} are described.")
    with module.graph.inserting_before(node):
        allocations = {name: _allocate(module, metas[name]) for name in names}
    node.target = scratch
    node.kwargs = {**node.kwargs, **allocations}
    return True


def _allocate(module: GraphModule, meta: ScratchTensorMetadata) -> Node:
    node = module.graph.call_function(memory.alloc, ((tuple(meta.shape), meta.dtype),))
    node.meta["val"] = torch.empty(meta.shape, dtype=meta.dtype, layout=meta.layout, device="meta")
    node.meta["spec"] = TensorSpec(meta.dtype, meta.shape, meta.layout, meta.is_sparse)
    return node


def _scratch_variant(op: torch._ops.OpOverload) -> torch._ops.OpOverload | None:
    """The overload of `op` that also takes scratch tensors."""
    if not any(a.is_out for a in op._schema.arguments) or scratch_argument_names(op):
        return None
    taken = {(a.name, str(a.type)) for a in op._schema.arguments}
    for name in op.overloadpacket.overloads():
        candidate = getattr(op.overloadpacket, name)
        extra = set(scratch_argument_names(candidate))
        rest = {(a.name, str(a.type)) for a in candidate._schema.arguments if a.name not in extra}
        if extra and rest == taken:
            return candidate
    return None
