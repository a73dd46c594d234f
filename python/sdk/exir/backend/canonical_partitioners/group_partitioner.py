# SPDX-License-Identifier: BSD-3-Clause
"""A capability-based partitioner that keeps given groups of nodes together."""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Sequence
from typing import Any

from torch.fx import GraphModule, Node
from torch.fx.node import _get_qualified_name
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner, Partition
from torch.fx.passes.operator_support import OperatorSupportBase


class GroupBasedPartitioner(CapabilityBasedPartitioner):
    """The supported nodes of each group end up in one partition, and partitions that no path connects are merged, too.

    A group that is not convex, because a path between its nodes leads through a node that is not supported, cannot be
    one partition: its nodes are divided as if they were in no group. Without groups this is
    CapabilityBasedPartitioner.

    Raises:
        ValueError: a node is in several groups.
    """

    def __init__(
        self,
        graph_module: GraphModule,
        operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False,
        non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
        node_groups: list[list[Node]] | None = None,
    ) -> None:
        super().__init__(
            graph_module,
            operator_support,
            allows_single_node_partition,
            non_compute_ops,
            allowed_single_node_partition_ops,
        )
        self.node_groups = [set(group) for group in node_groups or []]
        counts = Counter(node for group in self.node_groups for node in group)
        shared = [node.name for node, count in counts.items() if count > 1]
        if shared:
            raise ValueError(f"{', '.join(shared)}: in several groups of nodes; expected each node in one at most")

    def propose_partitions(self) -> list[Partition]:
        """The largest partitions of supported nodes that do not split a group."""
        if not self.node_groups:
            return super().propose_partitions()
        partitions = _Partitions()
        modules = dict(self.graph_module.named_modules())
        nodes = [n for n in self.graph_module.graph.nodes if n.op == "call_function"]
        supported = {n for n in nodes if self.operator_support.is_node_supported(modules, n)}
        # A getitem node belongs to the node whose result it reads.
        elements = [n for n in nodes if n.target is operator.getitem]
        supported -= {n for n in elements if n.args[0] not in supported}
        for node in nodes:
            if node in supported or (node.target is operator.getitem and node.args[0] in supported):
                partitions.add({node})
        for node in elements:
            partitions.merge([node, node.args[0]])
        for group in self.node_groups:
            partitions.merge([n for n in group if n in partitions.of])
        for node in reversed(nodes):
            for user in node.users:
                partitions.merge([node, user])
        last = {id(partitions.of[node]): node for node in nodes if node in partitions.of}
        for pair in itertools.combinations(reversed(last.values()), 2):
            partitions.merge(pair)
        found = {id(p): p for node in nodes if (p := partitions.of.get(node)) is not None}
        kept = [p for p in found.values() if self._is_worth_it(p)]
        return [Partition(id=i, nodes=[n for n in nodes if n in p]) for i, p in enumerate(kept)]

    def _is_worth_it(self, members: set[Node]) -> bool:
        """Whether a partition computes enough: by the rules that CapabilityBasedPartitioner has for single nodes."""
        if self.allows_single_node_partition:
            return True
        names = [_get_qualified_name(n.target) for n in members]
        idle = {"torch.ops.aten.view", "_operator.getitem", *self.non_compute_ops}
        return (
            sum(name not in idle for name in names) + sum(n in self.allowed_single_node_partition_ops for n in names)
            > 1
        )


class _Partitions:
    """Disjoint convex sets of nodes: no path between nodes of a set leads through another node."""

    def __init__(self) -> None:
        self.of: dict[Node, set[Node]] = {}

    def add(self, members: set[Node]) -> None:
        self.of.update(dict.fromkeys(members, members))

    def merge(self, nodes: Sequence[Any]) -> bool:
        """Unites the sets of some nodes. Returns False, without a change, if the union is not convex."""
        if any(node not in self.of for node in nodes):
            return False
        if all(self.of[node] is self.of[nodes[0]] for node in nodes):
            return True
        union: set[Node] = set().union(*(self.of[node] for node in nodes))
        if self._comes_back(union):
            return False
        self.add(union)
        return True

    def _comes_back(self, union: set[Node]) -> bool:
        """Whether a node outside of `union` depends on it, and `union` depends on that node."""
        pending = [user for node in union for user in node.users if user not in union]
        seen = set(pending)
        while pending:
            node = pending.pop()
            # A node that depends on one node of a set depends on the whole set.
            for member in self.of.get(node, (node,)):
                for user in member.users:
                    if user in union:
                        return True
                    if user not in seen:
                        seen.add(user)
                        pending.append(user)
        return False
