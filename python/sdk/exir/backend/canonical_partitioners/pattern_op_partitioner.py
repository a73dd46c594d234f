# SPDX-License-Identifier: BSD-3-Clause
"""Partitions from patterns, lists of nodes and a rule for single operators, merged into the largest connected ones."""

from __future__ import annotations

from torch.fx import Graph, GraphModule, Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner, Partition
from torch.fx.passes.operator_support import OperatorSupportBase, any_chain, create_op_support
from torch.fx.passes.utils.matcher_utils import SubgraphMatcher

__all__ = [
    "create_op_support",
    "create_pattern_support",
    "generate_partitions_from_list_of_nodes",
    "generate_pattern_op_partitions",
]


def create_pattern_support(patterns: list[list[Node]]) -> OperatorSupportBase:
    """Supports the nodes that are in one of the lists."""
    members = {node for pattern in patterns for node in pattern}
    return create_op_support(lambda submodules, node: node in members)


def generate_partitions_from_list_of_nodes(
    graph_module: GraphModule,
    pattern_list: list[list[Node]] | None = None,
    op_support: OperatorSupportBase | None = None,
) -> list[Partition]:
    """The largest partitions of nodes that are in one of the lists or that `op_support` accepts."""
    supports = [
        s for s in (op_support, create_pattern_support(pattern_list) if pattern_list else None) if s is not None
    ]
    if not supports:
        raise ValueError("pass a list of nodes or an operator support: there is nothing to partition by")
    partitioner = CapabilityBasedPartitioner(graph_module, any_chain(*supports), allows_single_node_partition=True)
    return partitioner.propose_partitions()


def generate_pattern_op_partitions(
    graph_module: GraphModule,
    patterns: list[Graph] | None = None,
    partitions_list: list[list[Node]] | None = None,
    op_support: OperatorSupportBase | None = None,
    ignore_literals: bool = False,
) -> list[Partition]:
    """The largest partitions of what matches a pattern, is listed, or that `op_support` accepts."""
    nodes = list(partitions_list or [])
    for pattern in patterns or ():
        matcher = SubgraphMatcher(_without_unused_inputs(pattern), ignore_literals=ignore_literals)
        for match in matcher.match(graph_module.graph):
            # What the pattern's placeholders match is input of the partition, not part of it.
            nodes.append([n for p, n in match.nodes_map.items() if p.op == "call_function" and isinstance(n, Node)])
    return generate_partitions_from_list_of_nodes(graph_module, nodes, op_support)


def _without_unused_inputs(pattern: Graph) -> Graph:
    """A copy of a pattern without unused inputs, which the matcher would never find."""
    copy = Graph()
    copy.output(copy.graph_copy(pattern, {}))
    for node in list(copy.nodes):
        if node.op == "placeholder" and not node.users:
            copy.erase_node(node)
    return copy
