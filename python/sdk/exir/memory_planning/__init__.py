# SPDX-License-Identifier: BSD-3-Clause
"""Memory planning: the lifetime of each tensor of a graph, and its arena and offset.

A planner sees a set of `TensorSpec`s with a `lifetime` each and assigns `mem_id` (the arena; 1 unless a pass has
chosen another) and `mem_offset`. Specs are storage: nodes that share a spec, and views, share memory. The memory of a
branch of control flow is one block in each arena of its parent. It lives while the control flow node runs, and as long
as a result stays in it.

    _lifetimes          which storage a node's tensors have, and from which node to which node it is used
    _in_place, _parts   results that are written over an operand, or that are a part of one
    _loops              what loops need besides the tensors of their bodies
    _interval_packing   placing blocks with known lifetimes in a small arena
    _algorithms         the algorithms that a `MemoryPlanningPass` can be given
    _planner            applies an algorithm to a graph and its branches
    _verifier           checks a finished plan
"""

from __future__ import annotations

from sdk.exir.memory_planning._algorithms import (
    MemoryAlgoResult,
    MemoryPlanningAlgorithmSuite,
    SpecAllocResult,
    greedy,
    naive,
)
from sdk.exir.memory_planning._lifetimes import (
    _do_user_inputs_exist,
    _is_inplace_node,
    _is_mutable_buffer,
    _is_out_var_node,
    collect_specs_from_nodes,
    filter_nodes,
    get_node_tensor_specs,
    storage_spec,
    update_all_tensors_lifetime,
)
from sdk.exir.memory_planning._planner import apply_algo, insert_calls_to_free, place_on_bases
from sdk.exir.memory_planning._verifier import Verifier

__all__ = [
    "MemoryAlgoResult",
    "MemoryPlanningAlgorithmSuite",
    "SpecAllocResult",
    "Verifier",
    "_do_user_inputs_exist",
    "_is_inplace_node",
    "_is_mutable_buffer",
    "_is_out_var_node",
    "apply_algo",
    "collect_specs_from_nodes",
    "filter_nodes",
    "get_node_tensor_specs",
    "greedy",
    "insert_calls_to_free",
    "naive",
    "place_on_bases",
    "storage_spec",
    "update_all_tensors_lifetime",
]
