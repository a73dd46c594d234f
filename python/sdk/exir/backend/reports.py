# SPDX-License-Identifier: BSD-3-Clause
"""`WhyNoPartitionReporter`: a table of the nodes that a partitioner left, with the reasons."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import torch
from torch.fx import Node
from torch.fx.passes.operator_support import OperatorSupportBase

_HEADER = ("Node name", "Target", "Torch func", "Reason")
_WIDTH = 35


class WhyNoPartitionReporter:
    """Collects why nodes are left, for a single report; if a node has several reasons, the first one is kept.

    `WhyNoPartition` writes to the log and to the receipt of the export at once; this class is for partitioners that
    print a table when they are done.
    """

    def __init__(self) -> None:
        self._reasons: dict[Node, str] = {}

    def report_reject(self, node: Node, reason: str) -> None:
        """Records why `node` is not delegated."""
        self._reasons.setdefault(node, reason)

    def get_table_report(self) -> str:
        """Returns a table of the calls that are not delegated: name, operator, function of the model, reason."""
        rows = [
            (node.name, str(getattr(node.target, "_op", node.target)), str(node.meta.get("torch_fn", "-")), reason)
            for node, reason in self._reasons.items()
            if node.op not in ("placeholder", "output")
        ]
        if not rows:
            return "No nodes rejected."
        cells = [[textwrap.wrap(text, _WIDTH) or [""] for text in row] for row in (_HEADER, *rows)]
        widths = [max(len(line) for row in cells for line in row[column]) for column in range(len(_HEADER))]
        rule = "+".join("-" * (width + 2) for width in widths).join("++")
        return "\n".join([rule, *(line for row in cells for line in (*_lines(row, widths), rule))])

    def wrap_check(self, operator_support: OperatorSupportBase, message: str) -> OperatorSupportBase:
        """Wraps `operator_support` so that each node that it does not support is recorded with `message`."""
        return ReportRejected(operator_support, self, message)


class ReportRejected(OperatorSupportBase):
    """The wrapper that `WhyNoPartitionReporter.wrap_check` returns."""

    def __init__(self, operator_support: OperatorSupportBase, reporter: WhyNoPartitionReporter, message: str) -> None:
        super().__init__()
        self.operator_support = operator_support
        self.reporter = reporter
        self.message = message

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        supported = self.operator_support.is_node_supported(submodules, node)
        if not supported:
            self.reporter.report_reject(node, self.message)
        return supported


def _lines(row: list[list[str]], widths: list[int]) -> list[str]:
    height = max(len(cell) for cell in row)
    padded = [[*cell, *[""] * (height - len(cell))] for cell in row]
    return [
        "|" + "|".join(f" {cell[i]:<{width}} " for cell, width in zip(padded, widths, strict=True)) + "|"
        for i in range(height)
    ]
