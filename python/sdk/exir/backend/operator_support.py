# SPDX-License-Identifier: BSD-3-Clause
"""Checks that keep nodes out of a partition, for partitioners and quantizers that take additional checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.fx import Node
from torch.fx.passes.operator_support import OperatorSupportBase

from sdk.exir.dialects.edge._ops import EdgeOpOverload

__all__ = ["DontPartition", "DontPartitionModule", "DontPartitionName", "DontSupportBase"]


class DontSupportBase(OperatorSupportBase):
    """A check that remembers the nodes that it rejects."""

    def __init__(self) -> None:
        self._rejected_nodes: list[Node] = []

    def reject_node(self, node: Node) -> None:
        """Remembers a node as rejected."""
        self._rejected_nodes.append(node)

    def rejected_nodes(self) -> list[Node]:
        """The nodes rejected so far; a node that was checked twice is listed twice."""
        return self._rejected_nodes

    def has_rejected_node(self) -> bool:
        """Whether a node was rejected."""
        return bool(self._rejected_nodes)

    def num_rejected(self) -> int:
        """The length of `rejected_nodes()`."""
        return len(self._rejected_nodes)

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        """False for a node that must stay outside; the node is remembered."""
        if self._matches(node):
            self.reject_node(node)
            return False
        return True

    def _matches(self, node: Node) -> bool:
        raise NotImplementedError(f"{type(self).__name__} does not say which nodes stay outside: define _matches(node)")


class DontPartition(DontSupportBase):
    """Keeps operators out of partitions.

    `targets` are edge operators, operators of `torch.ops`, or the names of the latter, such as "aten.add.Tensor". With
    `exact=False` a part of the name is enough.
    """

    def __init__(self, *targets: Any, exact: bool = True) -> None:
        super().__init__()
        self.targets = targets
        self.exact = exact

    def _matches(self, node: Node) -> bool:
        if node.target in self.targets:
            return True
        called = node.target._op if isinstance(node.target, EdgeOpOverload) else node.target
        names = {str(node.meta.get("original_aten", called)), str(called)}
        return any(_is_name(str(target), name, self.exact) for target in self.targets for name in names)


class DontPartitionName(DontSupportBase):
    """Keeps nodes out of partitions by their names, as `print(graph_module)` shows them; with `exact=False` a part of
    the name is enough."""

    def __init__(self, *targets: str, exact: bool = True) -> None:
        super().__init__()
        self.targets = targets
        self.exact = exact

    def _matches(self, node: Node) -> bool:
        return any(_is_name(target, node.name, self.exact) for target in self.targets)


class DontPartitionModule(DontSupportBase):
    """Keeps the nodes that a module computes out of partitions.

    `module_name` is the name of its class. If it has a dot, it includes the Python module that defines the class;
    otherwise it matches a class of that name in any Python module. `instance_name` is the module's name in the model.
    With `exact=False` a part of the name is enough.
    """

    def __init__(self, *, module_name: str | None = None, instance_name: str | None = None, exact: bool = True) -> None:
        super().__init__()
        self.module_name = module_name
        self.instance_name = instance_name
        self.exact = exact

    def _matches(self, node: Node) -> bool:
        for instance, class_name in node.meta.get("nn_module_stack", {}).values():
            name = class_name if isinstance(class_name, str) else f"{class_name.__module__}.{class_name.__qualname__}"
            if self.module_name is not None and "." not in self.module_name:
                name = name.rpartition(".")[2]
            if _is_name(self.instance_name, instance, self.exact) or _is_name(self.module_name, name, self.exact):
                return True
        return False


def _is_name(wanted: str | None, name: str, exact: bool) -> bool:
    return bool(wanted) and (wanted == name if exact else str(wanted) in name)
