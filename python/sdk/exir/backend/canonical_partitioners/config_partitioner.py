# SPDX-License-Identifier: BSD-3-Clause
"""A partitioner with a configuration for each operator: its name, which calls are delegated, and which nodes are
delegated with a call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.infra.partitioner import Partition

from sdk.exir.backend._branches import constant_placeholders
from sdk.exir.backend.canonical_partitioners.pattern_op_partitioner import generate_partitions_from_list_of_nodes
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.utils import tag_constant_data


def is_constant_data(ep: ExportedProgram, node: Node) -> bool:
    """Whether a node is a parameter, a constant, or a buffer that the program does not write to."""
    return node in constant_placeholders(ep)


def format_target_name(target_name: str) -> str:
    """The name of an operator without the namespace: "aten.add.Tensor" and "aten::add.Tensor" are "add.Tensor"."""
    for separator in ("::", "."):
        namespace, found, rest = target_name.partition(separator)
        if found and namespace.isidentifier() and (separator == "::" or target_name.count(".") > 1):
            return rest
    return target_name


class PartitionerConfig(ABC):
    """The configuration of one operator."""

    @property
    @abstractmethod
    def target_name(self) -> str:
        """The operator's name with its overload and without a namespace, for example "add.Tensor"."""

    @abstractmethod
    def check_constraints(self, node: Node, ep: ExportedProgram) -> bool:
        """Whether to delegate a call of the operator."""

    def get_original_aten(self) -> torch._ops.OpOverload | None:
        """Returns the ATen operator that `to_edge_transform_and_lower` does not decompose, or None if the edge dialect
        has the operator."""
        return None

    @abstractmethod
    def get_partition(self, node: Node, ep: ExportedProgram) -> list[Node]:
        """The nodes that are delegated together with a call, including it; empty to leave the call."""


class ConfigerationBasedPartitioner(Partitioner):
    """Gives all calls that its configurations accept to one backend, in as few partitions as possible. (The original
    spells the name like this.)"""

    def __init__(self, delegation_spec: DelegationSpec, partitioner_configs: Iterable[PartitionerConfig]) -> None:
        super().__init__()
        self.delegation_spec = delegation_spec
        self.target_partitioner_configs: dict[str, PartitionerConfig] = {}
        for config in partitioner_configs:
            name = config.target_name
            if name in self.target_partitioner_configs:
                other = type(self.target_partitioner_configs[name]).__name__
                raise RuntimeError(
                    f"{other} and {type(config).__name__} are both for {name}; expected one configuration for each "
                    "operator"
                )
            self.target_partitioner_configs[name] = config

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        """The operators of `get_original_aten`, for calls that the configurations take."""
        originals = {config.get_original_aten(): config for config in self.target_partitioner_configs.values()}
        originals.pop(None, None)

        def is_taken(node: Node) -> bool:
            config = originals.get(getattr(node.target, "_op", node.target))
            return config is not None and config.check_constraints(node, ep)

        return [op for op in originals if op is not None], is_taken if originals else None

    def get_matched_nodes_from_configs(self, ep: ExportedProgram) -> list[list[Node]]:
        """For each call that is delegated, the nodes that go with it. Lists that share a node are merged."""
        groups: list[set[Node]] = []
        for node in ep.graph.nodes:
            config = self._config_of(node)
            if config is None or not config.check_constraints(node, ep):
                continue
            taken = set(config.get_partition(node, ep))
            if not taken:
                continue
            joined = [group for group in groups if not group.isdisjoint(taken)]
            groups = [group for group in groups if group.isdisjoint(taken)]
            groups.append(taken.union(*joined))
        order = {node: position for position, node in enumerate(ep.graph.nodes)}
        return [sorted(group, key=order.__getitem__) for group in groups]

    def generate_partitions(self, ep: ExportedProgram) -> list[Partition]:
        """Returns the smallest number of partitions of the supported nodes, which need not be connected in one."""
        matched = self.get_matched_nodes_from_configs(ep)
        return generate_partitions_from_list_of_nodes(ep.graph_module, pattern_list=matched) if matched else []

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes of each part, and the constants that only one part reads."""
        tags: dict[str, DelegationSpec] = {}
        for partition in self.generate_partitions(exported_program):
            tag = f"tag{partition.id}"
            tags[tag] = self.delegation_spec
            for node in partition.nodes:
                node.meta["delegation_tag"] = tag
        tag_constant_data(exported_program)
        return PartitionResult(exported_program, tags)

    def _config_of(self, node: Node) -> PartitionerConfig | None:
        if node.op != "call_function":
            return None
        name = getattr(node.target, "__name__", "")
        name = str(node.target) if isinstance(node.target, torch._ops.OpOverload) else name
        return self.target_partitioner_configs.get(format_target_name(name))
