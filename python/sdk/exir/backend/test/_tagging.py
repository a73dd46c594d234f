# SPDX-License-Identifier: BSD-3-Clause
"""Tags what an operator rule accepts, in a program and in the branches of its control flow."""

from __future__ import annotations

from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.fx.passes.operator_support import OperatorSupportBase

from sdk.exir.backend.canonical_partitioners.pattern_op_partitioner import generate_partitions_from_list_of_nodes
from sdk.exir.backend.partitioner import DelegationSpec, PartitionResult
from sdk.exir.backend.utils import refuse, tag_constant_data, tag_mutated_buffer


def partition_by_support(
    program: ExportedProgram,
    support: OperatorSupportBase,
    spec: DelegationSpec,
    own_constants: bool = False,
    own_state: bool = False,
    reason: str | None = None,
) -> PartitionResult:
    """Tags the supported nodes of each graph, in as few partitions as possible. With `own_constants` their weights
    become the delegate's, with `own_state` the buffers that they change; `reason` is why other nodes are not taken."""
    tags: dict[str, DelegationSpec] = {}
    for module in program.graph_module.modules():
        if not isinstance(module, GraphModule):
            continue
        for partition in generate_partitions_from_list_of_nodes(module, op_support=support):
            tag = f"tag{len(tags)}"
            tags[tag] = spec
            for node in partition.nodes:
                node.meta["delegation_tag"] = tag
        for node in module.graph.nodes:
            if reason is not None and node.op == "call_function" and "delegation_tag" not in node.meta:
                refuse(node, spec.backend_id, reason)
    if own_constants:
        tag_constant_data(program)
    if own_state:
        tag_mutated_buffer(program)
    return PartitionResult(program, tags)
