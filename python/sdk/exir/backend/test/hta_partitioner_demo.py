# SPDX-License-Identifier: BSD-3-Clause
"""Partitioners that look for patterns: the graphs of small models."""

from __future__ import annotations

from typing import Any, final

import torch
from torch.export import ExportedProgram, export
from torch.fx import Graph, Node
from torch.fx.passes.infra.partitioner import Partition

import sdk.exir.backend.test.demo_backend  # noqa: F401  (defines the backend)
from sdk.exir.backend.canonical_partitioners.pattern_op_partitioner import generate_pattern_op_partitions
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.program._program import to_edge

_SIZE = 32


class _LSTMConv(torch.nn.Module):
    """One step of an LSTM, and a strided convolution of its result."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(_SIZE, _SIZE)
        self.conv = torch.nn.Conv1d(1, 2, 1, stride=2)

    def forward(self, x_raw: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, ...]:
        output, (h, c) = self.lstm(x_raw, (h, c))
        return output, h, c, self.conv(output)


class _Sub(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x - y


def _graph_of(model: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> Graph:
    return to_edge(export(model.eval(), inputs)).exported_program().graph


def _lstm_conv_pattern() -> Graph:
    return _graph_of(_LSTMConv(), (torch.ones(1, _SIZE), torch.ones(1, _SIZE), torch.ones(1, _SIZE)))


def _sub_pattern() -> Graph:
    return _graph_of(_Sub(), (torch.ones(_SIZE), torch.ones(_SIZE)))


def _tag(program: ExportedProgram, partitions: list[Partition], spec: DelegationSpec) -> PartitionResult:
    tags: dict[str, DelegationSpec] = {}
    for partition in partitions:
        tag = f"tag{len(tags)}"
        tags[tag] = spec
        for node in partition.nodes:
            node.meta["delegation_tag"] = tag
    return PartitionResult(program, tags)


@final
class HTAPartitionerMultiplePatternsDemo(Partitioner):
    """Gives LSTM steps with their convolution, and subtractions, to DemoBackend."""

    def __init__(self) -> None:
        super().__init__()
        self.patterns = [_lstm_conv_pattern(), _sub_pattern()]
        self.delegation_spec = DelegationSpec("DemoBackend", [])

    def is_exclusive(self, partition: list[Node], claimed: set[Node]) -> bool:
        """Whether none of the nodes belongs to an earlier partition."""
        return claimed.isdisjoint(partition)

    def generate_partition_list(self, graph_module: Any) -> list[Partition]:
        """Partitions of every pattern; an earlier pattern wins where two overlap."""
        found: list[Partition] = []
        claimed: set[Node] = set()
        for pattern in self.patterns:
            for partition in generate_pattern_op_partitions(graph_module, patterns=[pattern]):
                nodes = list(partition.nodes)
                if self.is_exclusive(nodes, claimed):
                    claimed.update(nodes)
                    found.append(partition)
        return found

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        partitions = self.generate_partition_list(exported_program.graph_module)
        return _tag(exported_program, partitions, self.delegation_spec)


@final
class HTAPartitionerOnePatternDemo(Partitioner):
    """Gives LSTM steps with their convolution to DemoBackend."""

    def __init__(self) -> None:
        super().__init__()
        self.patterns = [_lstm_conv_pattern()]
        self.delegation_spec = DelegationSpec("DemoBackend", [])

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        partitions = generate_pattern_op_partitions(exported_program.graph_module, patterns=self.patterns)
        return _tag(exported_program, partitions, self.delegation_spec)
