# SPDX-License-Identifier: BSD-3-Clause
"""The ids of the values that the nodes of a payload read and write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import NO_VALUE, XNNStep, XNode

_INPUT_FIELDS = {"input_id", "filter_id", "bias_id", *(f"input{i}_id" for i in range(1, 6))}


def inputs_of(node: Any) -> list[int]:
    """The ids that a node of a payload reads, and NO_VALUE for operands that it lacks."""
    if isinstance(node, XNNStep):
        return node.input_ids
    return [getattr(node, item.name) for item in fields(node) if item.name in _INPUT_FIELDS]


def outputs_of(node: Any) -> list[int]:
    """The ids that a node of a payload writes."""
    ids = [node.output_id, *(node.more_output_ids if isinstance(node, XNNStep) else [])]
    return [index for index in ids if index != NO_VALUE]


def renumber(node: Any, numbers: Mapping[int, int]) -> None:
    """Replaces the ids that a node of a payload reads and writes."""
    for item in fields(node):
        value = getattr(node, item.name)
        if item.name in _INPUT_FIELDS or item.name == "output_id":
            setattr(node, item.name, numbers[value])
        elif item.name in ("input_ids", "more_output_ids"):
            setattr(node, item.name, [numbers[index] for index in value])


def used_nodes(nodes: Sequence[XNode], outputs: Iterable[int]) -> list[XNode]:
    """Returns the nodes that the outputs need. Unused results of steps are removed."""
    read = set(outputs)
    kept = []
    for node in reversed(nodes):
        if not read.isdisjoint(outputs_of(node.xnode_union)):
            if isinstance(node.xnode_union, XNNStep):
                _keep_read(node.xnode_union, read)
            kept.append(node)
            read.update(inputs_of(node.xnode_union))
    return kept[::-1]


def _keep_read(step: XNNStep, read: set[int]) -> None:
    """Removes results that nothing reads from a step."""
    first, *more = (index if index in read else NO_VALUE for index in (step.output_id, *step.more_output_ids))
    while more and more[-1] == NO_VALUE:
        more.pop()
    step.output_id, step.more_output_ids = first, more
