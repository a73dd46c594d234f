# SPDX-License-Identifier: BSD-3-Clause
"""Patterns: a chain of operators, the tensors of the chain that are quantised, and the call that replaces it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torch._ops import OpOverload
from torch.fx import GraphModule, Node

from sdk.backends.cadence.aot.quantizer.utils import Partition


@dataclass
class PartitionAnchors:
    """The tensors of a chain that are quantised. An entry has a node and the position of the argument; for inputs and
    biases, a third element replaces the quantizer's specification. `output` has nodes, with or without a specification.
    `others` are operands that are not quantised. `empty` means that the pattern does not apply to the chain."""

    inputs: list[tuple[Any, ...]] = field(default_factory=list)
    weights: list[tuple[Any, ...]] = field(default_factory=list)
    biases: list[tuple[Any, ...]] = field(default_factory=list)
    others: list[tuple[Any, ...]] = field(default_factory=list)
    literals: list[tuple[Any, ...]] = field(default_factory=list)
    output: list[tuple[Any, ...]] = field(default_factory=list)
    empty: bool = False


Anchors = tuple[PartitionAnchors, Any]
Chain = Sequence[Partition]


class QuantizationPattern(ABC):
    """A chain of operators."""

    @abstractmethod
    def partition_types(self) -> list[OpOverload]:
        """Returns the operators of the chain, which the export keeps."""

    @abstractmethod
    def get_anchors(self, gm: GraphModule, fused_partition: Chain) -> Anchors:
        """Returns the quantised tensors of a chain, and its last node."""

    @abstractmethod
    def replacement_op(self) -> OpOverload:
        """Returns the operator that replaces the chain."""

    def anchor_ops(self) -> tuple[OpOverload, ...]:
        """Returns the operators at which `fuse` looks for a chain."""
        return (self.partition_types()[0],)

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        """Replaces the chain at a node with one call. Returns the call, or None if it leaves the chain."""
        return None


class OneOperatorPattern(QuantizationPattern):
    """Matches a chain of one operator, or a longer chain that begins with it. Subclasses define `anchors`."""

    target: OpOverload
    replacement: OpOverload

    def get_anchors(self, gm: GraphModule, fused_partition: Chain) -> Anchors:
        node, last = fused_partition[0].nodes[-1], fused_partition[-1].nodes[-1]
        return self.anchors(node, last), last

    def anchors(self, node: Node, last: Node) -> PartitionAnchors:
        """Returns the quantised tensors of a chain, given its first and its last node."""
        raise NotImplementedError

    def partition_types(self) -> list[OpOverload]:
        return [self.target]

    def replacement_op(self) -> OpOverload:
        return self.replacement
