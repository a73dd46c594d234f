# SPDX-License-Identifier: BSD-3-Clause
"""Shared code of partitioners for NPUs: which calls a processor supports, and the graph of a partition."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import split_conversion
from sdk.backends.npu.graph import Graph
from sdk.backends.npu.lowering import Lowering
from sdk.backends.npu.operators import CATALOG, Entry, Limits, computes
from sdk.backends.operators import Operators
from sdk.backends.partition import Skipped, Support, unless_size
from sdk.backends.transforms.constants import is_constant, settled


class NpuSupport(Support):
    """Decides which calls of a program a processor supports.

    Args:
        program: The program.
        operators: The table of its operators.
        limits: The limits of its tensors.
        skipped: The calls that stay on kernels.
    """

    def __init__(
        self,
        program: ExportedProgram,
        operators: Operators[Entry],
        limits: Limits,
        skipped: Skipped | None = None,
    ) -> None:
        self.title = limits.title  # type: ignore[misc]
        super().__init__(program)
        self._operators, self._limits = operators, limits
        self._skipped = skipped or Skipped()

    def refusal(self, node: Node) -> str | None:
        if node.target is operator.getitem:
            call = node.args[0]
            assert isinstance(call, Node)
            taken = name_of(call) in self._operators and self.refusal(call) is None
            return self._limits.refusal(node) if taken else ""
        if (reason := self._skipped.refusal(node)) is not None:
            return reason
        if is_constant(self.program, node):
            return None  # it is computed when the program is made
        return unless_size(node, self._operators.refusal(node, self.program, self._limits))

    def incomplete(self, node: Node, takes: Collection[Node]) -> str | None:
        """A quantize and the calls that dequantise its result are one conversion: a processor gets all of them or
        none."""
        return split_conversion(node, takes, self.title, _is_float) or super().incomplete(node, takes)

    def is_only_with_readers(self, node: Node) -> bool:
        """True for constants, which a delegate does not return."""
        return is_constant(self.program, node)

    def conflicts(self, nodes: Sequence[Node], part_of: Mapping[Node, int]) -> Iterable[tuple[Node, str]]:
        """Refuses inputs and outputs of a partition that are not contiguous."""
        members, found = set(nodes), {}
        for node in nodes:
            crossing = [n for n in node.all_input_nodes if n not in members and not is_constant(self.program, n)]
            if any(user not in members for user in node.users):
                crossing.append(node)
            for each in crossing:
                value = each.meta.get("val")
                if isinstance(value, torch.Tensor) and list(value.dim_order()) != list(range(value.dim())):
                    found[node] = f"{each.name} is in another dim order where it enters or leaves the delegate"
        return found.items()

    def is_free(self, node: Node) -> bool:
        operands = [operand for operand in node.all_input_nodes if not is_constant(self.program, operand)]
        return not operands or not computes(node)


def _is_float(node: Any) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def graph_of(program: ExportedProgram) -> Graph:
    """Converts a program that is one partition to a graph.

    Raises ValueError for a call that no table has.
    """
    with settled(program):
        lowering = Lowering(program)
        for node in program.graph.nodes:
            if node.op == "placeholder" and not is_constant(program, node):
                lowering.give(node)
            elif node.op == "call_function" and not is_constant(program, node):
                entry = CATALOG.get(name_of(node))
                if entry is None:
                    raise ValueError(f"{node.name} calls {name_of(node)}, which no graph for an NPU has")
                entry.lower(node, lowering)
        for result in program.graph.output_node().args[0]:
            assert isinstance(result, Node)
            lowering.take(result)
        return lowering.graph
