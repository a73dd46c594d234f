# SPDX-License-Identifier: BSD-3-Clause
"""Partitions from patterns, lists of nodes and a rule for single operators, merged into as few as possible."""

from __future__ import annotations

import operator

from torch.fx import Graph, GraphModule, Node
from torch.fx.passes.infra.partitioner import Partition
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
    return _largest_partitions(graph_module, any_chain(*supports))


def _largest_partitions(graph_module: GraphModule, support: OperatorSupportBase) -> list[Partition]:
    """The smallest number of partitions that depend on each other without a cycle, the last of the graph first. Takes
    time in proportion to the nodes.

    The stage of a node is the largest number of times that a path from it to the end of the graph leaves the supported
    nodes and comes back. All supported nodes of a stage are a partition: no path leads from one of them through another
    node to a third. Two stages cannot be one partition, because such a path leads from each to the next.
    PyTorch's CapabilityBasedPartitioner finds the same by testing pairs of partitions after each node, in cubic time.
    """
    modules = dict(graph_module.named_modules())
    nodes = list(graph_module.graph.nodes)
    is_supported: dict[Node, bool] = {}
    for node in nodes:
        # A getitem node is in the partition of its call.
        call = node.args[0] if _is_result_of_call(node) else node
        is_supported[node] = support.is_node_supported(modules, node) if call is node else is_supported[call]
    stage: dict[Node, int] = {}
    members: dict[int, list[Node]] = {}
    for node in reversed(nodes):
        readers = list(node.users)
        if is_supported[node]:
            stage[node] = max((stage[reader] + (not is_supported[reader]) for reader in readers), default=0)
        else:
            # -1: no supported node reads its result.
            stage[node] = max((stage[reader] for reader in readers), default=-1)
    for node in nodes:
        if _is_result_of_call(node):
            stage[node] = stage[node.args[0]]
        if is_supported[node]:
            members.setdefault(stage[node], []).append(node)
    return [Partition(id=number, nodes=members[at]) for number, at in enumerate(sorted(members))]


def _is_result_of_call(node: Node) -> bool:
    """Whether the node reads one result of a call, all readers of which read single results."""
    if node.target is not operator.getitem or not isinstance(node.args[0], Node):
        return False
    return all(user.target is operator.getitem for user in node.args[0].users)


def generate_pattern_op_partitions(
    graph_module: GraphModule,
    patterns: list[Graph] | None = None,
    partitions_list: list[list[Node]] | None = None,
    op_support: OperatorSupportBase | None = None,
    ignore_literals: bool = False,
) -> list[Partition]:
    """The largest partitions of the nodes that match a pattern, are listed, or that `op_support` accepts."""
    nodes = list(partitions_list or [])
    for pattern in patterns or ():
        matcher = SubgraphMatcher(_without_unused_inputs(pattern), ignore_literals=ignore_literals)
        for match in matcher.match(graph_module.graph):
            # Nodes that match the pattern's placeholders are inputs of the partition, not part of it.
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
