# SPDX-License-Identifier: BSD-3-Clause
"""`NodePass`: the base of passes that rewrite single calls, and helpers for them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.fx.experimental.symbolic_shapes import guard_or_false
from torch.fx.passes.infra.pass_base import PassResult

import sdk.backends.cadence.aot.ops_registrations  # noqa: F401  (registers the operators)
from sdk.backends.cadence.aot.pass_utils import fake_value
from sdk.backends.transforms.permute_pass_utils import RemoveOrReplacePassInterface


class NodePass(RemoveOrReplacePassInterface):
    """A pass that visits each call of the operators `targets`. Subclasses define `rewrite`, which returns a node that
    replaces the call, or None to keep it."""

    whole: GraphModule | None = None
    """The module of the program's graph. It contains the graphs of branches and loop bodies."""

    def call(self, graph_module: GraphModule) -> PassResult:
        self.whole = graph_module
        return super().call(graph_module)

    def rewrite(self, node: Node) -> Node | None:
        """Returns the node that replaces a call, or None."""
        raise NotImplementedError

    def maybe_remove_or_replace(self, node: Node) -> bool:
        new = self.rewrite(node)
        if new is None or new is node:
            return False
        if "val" in node.meta and "val" in new.meta and new.op == "call_function":
            for key, value in node.meta.items():
                new.meta.setdefault(key, value)
        node.replace_all_uses_with(new)
        return True


def value(node: Any) -> Tensor:
    """Returns the fake tensor of a node's result."""
    tensor: Tensor = node.meta["val"]
    return tensor


def shape(node: Any) -> list[Any]:
    """Returns the shape of a node's result."""
    return list(value(node).shape)


def same_shape(first: Node, second: Node) -> bool:
    """Whether two results have the same shape, for every value of dynamic sizes."""
    a, b = shape(first), shape(second)
    return len(a) == len(b) and all(guard_or_false(x == y) for x, y in zip(a, b, strict=True))


def insert(before: Node, target: Any, *args: Any, **kwargs: Any) -> Node:
    """Inserts a call, with its fake tensor, before a node."""
    with before.graph.inserting_before(before):
        node = before.graph.call_function(target, args, kwargs)
    node.meta["val"] = fake_value(target, args, kwargs, before)
    for key in ("nn_module_stack", "stack_trace", "source_fn_stack", "debug_handle"):
        if key in before.meta:
            node.meta[key] = before.meta[key]
    return node


def is_call(node: Any, *targets: Any) -> bool:
    """Whether a node calls one of the operators."""
    return isinstance(node, Node) and node.op == "call_function" and node.target in targets


def has_one_user(node: Node) -> bool:
    """Whether a result has exactly one user."""
    return len(node.users) == 1


def dim_of(dim: int, rank: int) -> int:
    """Converts a dimension that may be negative to one that is not."""
    return dim + rank if dim < 0 else dim


def constant_of(node: Any, full: Any) -> float | int | bool | None:
    """Returns the value of all elements of a call of full, or None."""
    if not is_call(node, full):
        return None
    number = node.args[1]
    return number if isinstance(number, (bool, int, float)) else None


def is_float(node: Any) -> bool:
    """Whether a result has a floating-point dtype."""
    return value(node).dtype.is_floating_point


def dtype_of(node: Any) -> torch.dtype:
    """Returns the dtype of a node's result."""
    return value(node).dtype
