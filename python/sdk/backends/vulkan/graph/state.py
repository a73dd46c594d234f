# SPDX-License-Identifier: BSD-3-Clause
"""Rules for buffers that calls change, such as key-value caches."""

from __future__ import annotations

import torch
from torch.fx import Node

from sdk.backends.vulkan.graph.ir import Value
from sdk.backends.vulkan.graph.lowering import Lowering, bound_arguments, rule
from sdk.backends.vulkan.op_registry import called_operator


@rule("llama.update_cache.default", "llama.sdpa_with_kv_cache.default")
def _change_caches(lowering: Lowering, node: Node) -> Value | None:
    """Returns the operator's results, and then the caches, which it changes in place."""
    operator = node.args[0]
    assert isinstance(operator, torch._ops.OpOverload)
    bases = node.kwargs["_all_bases"]
    assert isinstance(bases, list | tuple)
    arguments = []
    for argument in operator._schema.arguments:
        place = node.kwargs.get(f"_{argument.name}_base_index")
        given = node.kwargs.get(argument.name, argument.default_value)
        arguments.append(bases[place] if isinstance(place, int) else given)
    result = lowering.call(called_operator(node), arguments, node.meta["val"][0])
    return [result, *(lowering.value(base) for base in bases if isinstance(base, Node))]


@rule("aten.index_put.default")
def _write_rows(lowering: Lowering, node: Node) -> Value | None:
    """Writes to a buffer in place if nothing else reads its old elements."""
    buffer, *rest = bound_arguments(node)
    state = lowering.changed_in_place(buffer, node)
    return None if state is None else lowering.change("aten.index_put_.default", state, rest)
