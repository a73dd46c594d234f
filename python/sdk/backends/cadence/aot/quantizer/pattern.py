# SPDX-License-Identifier: BSD-3-Clause
"""A pattern: a chain of operators, what of it is quantised, and the call that replaces it."""

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
    """What of a chain is quantised. An entry is a node and the position of the argument; of inputs and biases, a third
    element is the specification instead of the quantizer's. `output` has nodes, with a specification or without.
    `others` are operands that stay as they are, `empty` says that the chain is not one for the pattern."""

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
        """The operators, which the export keeps."""

    @abstractmethod
    def get_anchors(self, gm: GraphModule, fused_partition: Chain) -> Anchors:
        """What of a chain is quantised, and its last node."""

    @abstractmethod
    def replacement_op(self) -> OpOverload:
        """The operator that replaces the chain."""

    def anchor_ops(self) -> tuple[OpOverload, ...]:
        """The operators at which `fuse` looks for a chain."""
        return (self.partition_types()[0],)

    def fuse(self, gm: GraphModule, anchor_node: Node) -> Node | None:
        """Replaces the chain at a node with one call, or leaves it and returns None."""
        return None


class OneOperatorPattern(QuantizationPattern):
    """A chain of one operator, or a longer one that begins with it. A subclass defines `anchors`."""

    target: OpOverload
    replacement: OpOverload

    def get_anchors(self, gm: GraphModule, fused_partition: Chain) -> Anchors:
        node, last = fused_partition[0].nodes[-1], fused_partition[-1].nodes[-1]
        return self.anchors(node, last), last

    def anchors(self, node: Node, last: Node) -> PartitionAnchors:
        """What of a chain is quantised, by its first and its last node."""
        raise NotImplementedError

    def partition_types(self) -> list[OpOverload]:
        return [self.target]

    def replacement_op(self) -> OpOverload:
        return self.replacement
