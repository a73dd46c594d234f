# SPDX-License-Identifier: BSD-3-Clause
"""`Place`: the position of a call, where the quantizer's rewriting inserts nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_map_only

from sdk.backends.graph.shapes import shape_of

_aten = torch.ops.aten


class Place:
    """The position of a call in a program. Nodes that replace the call are inserted before it."""

    def __init__(self, model: GraphModule, node: Node, copies: dict[Node, Node]) -> None:
        self._model = model
        self._copies = copies
        self.node = node
        schema = node.target._schema.arguments
        given = {argument.name: argument.default_value for argument in schema}
        given.update(zip((argument.name for argument in schema), node.args, strict=False))
        self.arguments: dict[str, Any] = {**given, **node.kwargs}

    def call(self, target: Any, *arguments: Any) -> Node:
        with self.node.graph.inserting_before(self.node):
            made = self.node.graph.call_function(target, arguments)
        values = tree_map_only(Node, lambda each: each.meta["val"], arguments)
        made.meta = {**self.node.meta, "val": target(*values)}
        return made

    def constant(self, tensor: Tensor) -> Node:
        number = 0
        while hasattr(self._model, f"_constant_{number}"):
            number += 1
        name = f"_constant_{number}"
        is_parameter = isinstance(tensor, torch.nn.Parameter)
        (self._model.register_parameter if is_parameter else self._model.register_buffer)(name, tensor)
        with self.node.graph.inserting_before(self.node):
            made = self.node.graph.get_attr(name)
        value = self.node.meta["val"]
        mode = (value[0] if isinstance(value, list | tuple) else value).fake_mode
        made.meta = {**self.node.meta, "val": mode.from_tensor(tensor)}
        return made

    def copy(self, node: Node, known: Tensor) -> Node:
        """The constant that a node computes. All readers use the same copy."""
        if node.op == "get_attr":
            return node
        if node not in self._copies:
            self._copies[node] = self.constant(known)
        return self._copies[node]

    def reshape(self, node: Node, shape: Sequence[int]) -> Node:
        return node if shape_of(node) == tuple(shape) else self.call(_aten.reshape.default, node, list(shape))


def is_static(*nodes: Node) -> bool:
    return all(isinstance(size, int) for node in nodes for size in shape_of(node))


def is_float(node: Node) -> bool:
    return node.meta["val"].dtype == torch.float32
