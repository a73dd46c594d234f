# SPDX-License-Identifier: BSD-3-Clause
"""Counts the calls of each operator that were delegated to backends, and those that were not."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from torch.fx import Graph, GraphModule, Node

from sdk.exir.backend._branches import kept_graphs
from sdk.exir.delegate import executorch_call_delegate
from sdk.exir.lowered_backend_module import get_lowered_submodules


@dataclass
class DelegationBreakdown:
    """The calls of one operator inside and outside of delegates."""

    op_type: str = ""
    delegated: int = 0
    non_delegated: int = 0


@dataclass
class DelegationInfo:
    """Counts the calls of a graph and its branches. `getitem` calls that read a delegate's results count as outside."""

    num_delegated_subgraphs: int = 0
    num_delegated_nodes: int = 0
    num_non_delegated_nodes: int = 0
    delegation_by_operator: dict[str, DelegationBreakdown] = field(default_factory=dict)

    def get_summary(self) -> str:
        """Three lines of text."""
        return (
            f"Total delegated subgraphs: {self.num_delegated_subgraphs}\n"
            f"Number of delegated nodes: {self.num_delegated_nodes}\n"
            f"Number of non-delegated nodes: {self.num_non_delegated_nodes}\n"
        )

    def get_operator_delegation_dataframe(self) -> Any:
        """A pandas.DataFrame with a row for each operator, sorted by name, and the row Total. Raises ImportError
        without pandas."""
        import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]

        columns = ("op_type", "occurrences_in_delegated_graphs", "occurrences_in_non_delegated_graphs")
        return pandas.DataFrame([dict(zip(columns, row, strict=True)) for row in self.rows()], columns=list(columns))

    def rows(self) -> list[tuple[str, int, int]]:
        """(operator, calls in delegates, calls outside), by name, and the totals."""
        rows = [(b.op_type, b.delegated, b.non_delegated) for _, b in sorted(self.delegation_by_operator.items())]
        return [*rows, ("Total", self.num_delegated_nodes, self.num_non_delegated_nodes)]


def get_delegation_info(graph_module: GraphModule) -> DelegationInfo:
    """Counts the calls of a lowered graph and of its branches, and of the graphs that were lowered to its delegates."""
    info = DelegationInfo()
    for module in kept_graphs(graph_module):
        for _, lowered, _ in get_lowered_submodules(module):
            info.num_delegated_subgraphs += 1
            for inner in kept_graphs(lowered.original_module.graph_module):
                _count(info, inner.graph, delegated=True)
        _count(info, module.graph, delegated=False)
    return info


def print_delegation_info(graph_module: GraphModule) -> None:
    """Prints the summary and the table."""
    info = get_delegation_info(graph_module)
    print(info.get_summary())
    rows = info.rows()
    width = max(len(name) for name, _, _ in rows)
    print(f"{'operator':<{width}}  delegated  not delegated")
    for name, delegated, kept in rows:
        print(f"{name:<{width}}  {delegated:>9}  {kept:>13}")


def _count(info: DelegationInfo, graph: Graph, delegated: bool) -> None:
    for node in graph.nodes:
        if node.op != "call_function" or node.target is executorch_call_delegate:
            continue
        name = _op_type(node)
        entry = info.delegation_by_operator.setdefault(name, DelegationBreakdown(name))
        if delegated:
            entry.delegated += 1
            info.num_delegated_nodes += 1
        else:
            entry.non_delegated += 1
            info.num_non_delegated_nodes += 1


def _op_type(node: Node) -> str:
    """The name that fx gives to the first call: `aten_add_tensor`, without a number."""
    return re.sub(r"_\d+$", "", node.name)
