# SPDX-License-Identifier: BSD-3-Clause
"""A capability-based partitioner that keeps given groups of nodes together."""

from __future__ import annotations

from collections.abc import Sequence

from torch.fx import GraphModule, Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner, Partition
from torch.fx.passes.operator_support import OperatorSupportBase


class GroupBasedPartitioner(CapabilityBasedPartitioner):
    """Each group ends up in one partition as a whole, or in none."""

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

    def propose_partitions(self) -> list[Partition]:
        """Partitions of supported nodes; those that would split a group lose the group's nodes."""
        partitions = super().propose_partitions()
        for group in self.node_groups:
            holders = [p for p in partitions if group & set(p.nodes)]
            if not holders or group <= set(holders[0].nodes):
                continue
            for partition in holders:
                for node in group & set(partition.nodes):
                    partition.remove_node(node)
        return [p for p in partitions if p.size()]
