# SPDX-License-Identifier: BSD-3-Clause
"""Helpers for passes: the registry with optimisation levels, access to the arguments of calls by name, and checks of
graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import torch
from torch._ops import OpOverload, OpOverloadPacket
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from sdk.backends.cadence.aot.utils import get_edge_overload_packet
from sdk.backends.transforms.permute_pass_utils import (
    RemoveOrReplacePassInterface as RemoveOrReplacePassInterface,
)
from sdk.exir.dialects.edge._ops import EdgeOpOverload, EdgeOpOverloadPacket

Pass = TypeVar("Pass", bound=type)


def allow_lifetime_and_storage_overlap(opt_level: int) -> bool:
    """Whether live tensors may share memory, for example a slice with the tensor that it is a slice of."""
    return opt_level >= 2


@dataclass(frozen=True)
class EdgePassesConfig:
    """Requests for passes that do not run by default. `CadencePassAttribute` has a field of the same name for each."""

    use_im2row_transform: bool = False


@dataclass(frozen=True)
class CadencePassAttribute:
    """When a pass runs: at `opt_level` and above (None: never), only in debug mode, or only on request."""

    opt_level: int | None = None
    debug_pass: bool = False
    use_im2row_transform: bool = False


ALL_CADENCE_PASSES: dict[type[Any], CadencePassAttribute] = {}


def register_cadence_pass(pass_attribute: CadencePassAttribute) -> Callable[[Pass], Pass]:
    """Declares when the decorated pass runs."""

    def register(cls: Pass) -> Pass:
        ALL_CADENCE_PASSES[cls] = pass_attribute
        return cls

    return register


def get_cadence_pass_attribute(p: type[Any]) -> CadencePassAttribute | None:
    """Returns the attributes of a registered pass, or None."""
    return ALL_CADENCE_PASSES.get(p)


def get_all_available_cadence_passes() -> set[type[Any]]:
    """The registered passes."""
    return set(ALL_CADENCE_PASSES)


def create_cadence_pass_filter(
    opt_level: int, debug: bool = False, edge_passes_config: EdgePassesConfig | None = None
) -> Callable[[type[Any]], bool]:
    """Returns a function that tells whether a pass runs at this level with these requests."""
    requests = edge_passes_config or EdgePassesConfig()

    def runs(p: type[Any]) -> bool:
        attribute = ALL_CADENCE_PASSES.get(p)
        if attribute is None or attribute.opt_level is None or attribute.opt_level > opt_level:
            return False
        if attribute.debug_pass and not debug:
            return False
        return all(getattr(requests, each.name) or not getattr(attribute, each.name) for each in fields(requests))

    return runs


def get_arg(node: Node, kwarg_name: str, expected_type: Any = None) -> Any:
    """Returns an argument of a call by its name in the schema, or its default. Raises TypeError if it does not have
    `expected_type`."""
    value = _argument(node, kwarg_name)
    kind = getattr(expected_type, "__origin__", expected_type)
    if isinstance(kind, type) and not isinstance(value, kind) and not (kind is float and isinstance(value, int)):
        raise TypeError(f"{node.format_node()}: expected {kwarg_name} of {kind.__name__}, found {type(value).__name__}")
    return value


def _argument(node: Node, name: str) -> Any:
    if name in node.kwargs:
        return node.kwargs[name]
    index, default = _position(node, name)
    return node.args[index] if index < len(node.args) else default


def _position(node: Node, name: str) -> tuple[int, Any]:
    """Returns the position of an argument in the schema, and its default. `input` and `self` are synonyms."""
    arguments = node.target._schema.arguments
    names = [argument.name for argument in arguments]
    if name not in names:
        name = {"input": "self", "self": "input"}.get(name, name)
    if name not in names:
        raise KeyError(f"{node.target} has no argument {name!r}, expected one of {names}")
    return names.index(name), arguments[names.index(name)].default_value


def set_arg(node: Node, kwarg_name: str, value: Any) -> None:
    """Changes an argument of a call, by its name in the schema."""
    index, _ = _position(node, kwarg_name)
    if kwarg_name not in node.kwargs and index < len(node.args):
        node.update_arg(index, value)
    else:
        node.update_kwarg(kwarg_name, value)


def get_overload_packet(op: Any) -> OpOverloadPacket | EdgeOpOverloadPacket | None:
    """Returns the packet of an operator of the edge dialect or of PyTorch, or None for other targets."""
    if isinstance(op, EdgeOpOverload):
        return get_edge_overload_packet(op)
    return getattr(op, "overloadpacket", None)


def _calls(graph_module: GraphModule) -> list[Node]:
    return [node for node in graph_module.graph.nodes if node.op == "call_function"]


def get_node_names_list_from_gm(graph_module: GraphModule) -> list[str]:
    """Returns the names of the edge operators that a graph calls."""
    return [node.name for node in _calls(graph_module) if isinstance(node.target, EdgeOpOverload)]


def count_node(graph_module: GraphModule, target: Any) -> int:
    """Counts the calls of an operator in a graph."""
    return sum(node.target == target for node in _calls(graph_module))


def op_counts_match(graph_module: GraphModule, expected_op_counts: dict[Any, int]) -> bool:
    """Whether a graph calls each operator as often as expected."""
    return all(count_node(graph_module, op) == count for op, count in expected_op_counts.items())


def get_compute_nodes_in_gm(graph_module: GraphModule) -> list[Any]:
    """Returns the packets of the operators that a graph calls, in its order."""
    return [
        get_overload_packet(node.target)
        for node in _calls(graph_module)
        if isinstance(node.target, (OpOverload, EdgeOpOverload))
    ]


def nodes_not_connected_in_gm(graph_module: GraphModule, pred_target: Any, succ_target: Any) -> bool:
    """Whether no call of one operator uses the result of a call of another."""
    calls = (node for node in graph_module.graph.nodes if node.target == pred_target)
    return not any(user.target == succ_target for node in calls for user in node.users)


def get_node_pos(graph_module: GraphModule, target: Any) -> int:
    """Returns the position of the first node with a target, or -1."""
    positions = (at for at, node in enumerate(graph_module.graph.nodes) if node.target == target)
    return next(positions, -1)


def nodes_not_adjacent_in_gm(graph_module: GraphModule, pred_target: Any, succ_target: Any) -> bool:
    """Whether no call of `succ_target` directly follows a call of `pred_target`."""
    calls = (node for node in graph_module.graph.nodes if node.target == pred_target)
    return not any(node.next.target == succ_target for node in calls)


def none_throws(x: PassResult | None) -> PassResult:
    """Returns the result of a pass; asserts that it is not None."""
    assert x is not None
    return x


def replace_with_op(
    gm: GraphModule,
    insert_after: Node,
    replacement_op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    node_to_replace: Node,
) -> Node:
    """Inserts a call after `insert_after`, and lets all users of `node_to_replace` use its result."""
    with gm.graph.inserting_after(insert_after):
        new = gm.graph.call_function(replacement_op, args, kwargs)
    new.meta = dict(node_to_replace.meta)
    node_to_replace.replace_all_uses_with(new)
    return new


class HierarchicalInplacePassInterface(PassBase):
    """A pass that edits a graph and the graphs of its branches and loop bodies in place."""

    def _apply_flat_inplace(self, graph_module: GraphModule) -> bool:
        """Edits one graph. Returns whether it changed."""
        raise NotImplementedError

    def call(self, graph_module: GraphModule) -> PassResult:
        """Edits all graphs."""
        changed = False
        for module in graph_module.modules():
            if isinstance(module, GraphModule) and self._apply_flat_inplace(module):
                module.graph.eliminate_dead_code()
                module.recompile()
                changed = True
        return PassResult(graph_module, changed)


def fake_value(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], like: Node) -> Any:
    """Returns the result of a call on the fake tensors of its arguments."""

    def value(x: Any) -> Any:
        return x.meta["val"] if isinstance(x, Node) else x

    mode = getattr(like.meta["val"], "fake_mode", None)
    values = torch.utils._pytree.tree_map(value, (args, kwargs))
    if mode is None:
        return op(*values[0], **values[1])
    with mode:
        return op(*values[0], **values[1])
