# SPDX-License-Identifier: BSD-3-Clause
"""The page's data as JSON, from which its script draws. Texts that many nodes share are in tables."""

from __future__ import annotations

import json
from typing import Any

from sdk.devtools.page._graph import Graph, GraphNode, Weight

_SHORT = ("name", "op", "kind", "outputs", "inputs", "instruction", "partition")


class _Table:
    """Distinct values and their numbers."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def number(self, value: Any) -> int:
        if value not in self._numbers:
            self._numbers[value] = len(self.values)
            self.values.append(value)
        return self._numbers[value]


def graph_data(graph: Graph) -> dict[str, Any]:
    """A graph as plain data. A node refers to `modules`, `frames` and `weights` by their numbers in tables.

    A module is its parent's number (-1 for none), its path and its class.
    """
    modules, frames, weights = _Table(), _Table(), _Table()
    nodes = [_node(node, modules, frames, weights) for node in graph.nodes]
    return {
        "method": graph.method,
        "nodes": nodes,
        "partitions": [
            {"backend": call.backend, "instruction": call.instruction, "bytes": call.nbytes}
            for call in graph.partitions
        ],
        "modules": modules.values,
        "frames": frames.values,
        "weights": [_weight(weight) for weight in weights.values],
    }


def _node(node: GraphNode, modules: _Table, frames: _Table, weights: _Table) -> dict[str, Any]:
    found = {name: value for name in _SHORT if (value := getattr(node, name)) not in (None, [])}
    if node.nbytes:
        found["bytes"] = node.nbytes
    parent = -1
    for path, kind in node.modules:
        parent = modules.number((parent, path, kind))
    if parent >= 0:
        found["module"] = parent
    if node.frames:
        found["frames"] = [frames.number(frame) for frame in node.frames]
    if node.weights:
        found["weights"] = [weights.number(weight) for weight in node.weights]
    return found


def _weight(weight: Weight) -> dict[str, Any]:
    return {"name": weight.name, "type": weight.type, "bytes": weight.nbytes, "state": weight.state}


def embedded(data: Any) -> str:
    """JSON for a <script> element of HTML: it contains no `<`, which could end the element."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
