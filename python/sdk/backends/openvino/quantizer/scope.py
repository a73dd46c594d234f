# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a graph that a quantizer leaves in floats."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from torch.fx import Graph, Node


@dataclass(frozen=True)
class IgnoredScope:
    """Selects nodes by name, by a regular expression for names, by operator (`conv2d` or `aten.conv2d.default`), or by
    position: all nodes on paths from one of the first names to one of the second names."""

    names: Sequence[str] = ()
    patterns: Sequence[str] = ()
    types: Sequence[str] = ()
    subgraphs: Sequence[tuple[Sequence[str], Sequence[str]]] = ()
    validate: bool = True

    def nodes(self, graph: Graph) -> set[Node]:
        """The ignored nodes. Raises ValueError, if `validate`, for an entry that matches nothing."""
        calls = [node for node in graph.nodes if node.op == "call_function"]
        found: set[Node] = set()
        for what, entries, matches in (
            ("name", self.names, lambda node, entry: node.name == entry),
            ("pattern", self.patterns, lambda node, entry: re.fullmatch(entry, node.name) is not None),
            ("type", self.types, lambda node, entry: entry in _operators(node)),
        ):
            for entry in entries:
                matching = {node for node in calls if matches(node, entry)}
                if self.validate and not matching:
                    raise ValueError(f"the ignored scope's {what} {entry!r} matches no node of the graph")
                found |= matching
        for inputs, outputs in self.subgraphs:
            between = _between(calls, set(inputs), set(outputs))
            if self.validate and not between:
                raise ValueError(f"the ignored scope has no path from {list(inputs)} to {list(outputs)}")
            found |= between
        return found


def _operators(node: Node) -> tuple[str, ...]:
    name = str(node.target)
    return (name, name.rpartition(".")[0], *name.split(".")[1:2])


def _between(calls: list[Node], inputs: set[str], outputs: set[str]) -> set[Node]:
    after: set[Node] = set()
    for node in calls:
        if node.name in inputs or any(source in after for source in node.all_input_nodes):
            after.add(node)
    before: set[Node] = set()
    for node in reversed(calls):
        if node.name in outputs or any(reader in before for reader in node.users):
            before.add(node)
    return after & before
