# SPDX-License-Identifier: BSD-3-Clause
"""A graph of operators and values, free of torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass
class Node:
    """An element of a graph.

    Attributes:
        name: Its name in the graph.
        inputs: The nodes that it reads, in the order of its arguments. None if it reads none.
        output_shapes: The shape of each of its results; dynamic sizes are strings (`s0`).
        metadata: Other facts about it; see the class that makes the graph.
        named_args: The names of the operator's arguments, in their order.
    """

    name: str
    inputs: list[Node] | None = None
    output_shapes: list[list[Any]] | None = None
    metadata: dict[str, Any] | None = None
    named_args: list[str] | None = None


@dataclass
class OperatorNode(Node):
    """A call of an operator, `op` (`aten.add.Tensor`)."""

    op: str | None = None


@dataclass
class ValueNode(Node):
    """An input or output of the graph, or an argument that is not a tensor.

    Attributes:
        dtype: The dtypes of its tensors (`[torch.float32]`), "" for an argument.
        val: The argument: a list, or a number or string as a string. None for tensors.
    """

    dtype: str = ""
    val: Any = None


@dataclass
class OperatorGraph:
    """Nodes, and graphs inside of this one, in the order of execution."""

    graph_name: str
    elements: list[Node | OperatorGraph]
    metadata: dict[str, Any] | None = None

    def operators(self) -> Iterator[OperatorNode]:
        """The operators of this graph and of those inside of it, in their order."""
        for element in self.elements:
            if isinstance(element, OperatorGraph):
                yield from element.operators()
            elif isinstance(element, OperatorNode):
                yield element
