# SPDX-License-Identifier: BSD-3-Clause
"""Weights that the program reads in parts, such as the input projection of an attention."""

from __future__ import annotations

import functools

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_map_only

from sdk.backends.arm.quantizer.place import Place
from sdk.backends.quantizer.aliases import is_view, is_written


def divide_weights(model: GraphModule) -> None:
    """Makes weights of the parts of a weight. As the result of a call, a part would be quantised as an activation is,
    together with the others.

    A weight that an operator reads whole, also through a view, or that the program writes to, stays: copies of it would
    be trained separately, stored twice, or keep their first value.
    """
    known: dict[Node, Tensor] = {}
    for node in list(model.graph.nodes):
        if node.op == "get_attr":
            readers = model.graph.find_nodes(op="get_attr", target=node.target)
            if all(map(_is_read_in_parts, readers)) and not is_written(node):
                known[node] = functools.reduce(getattr, str(node.target).split("."), model)
        elif is_view(node) and node.all_input_nodes and all(operand in known for operand in node.all_input_nodes):
            args, kwargs = tree_map_only(Node, known.__getitem__, (node.args, node.kwargs))
            with torch.no_grad():
                part = node.target(*args, **kwargs)
            whole = known[node.args[0]]
            if not isinstance(part, Tensor) or part.numel() > whole.numel():
                continue
            is_part = part.numel() < whole.numel()
            if is_part:
                part = part.clone(memory_format=torch.contiguous_format)
            known[node] = (
                torch.nn.Parameter(part, whole.requires_grad) if isinstance(whole, torch.nn.Parameter) else part
            )
            if is_part:
                node.replace_all_uses_with(Place(model, node, {}).constant(known[node]))


def _is_read_in_parts(node: Node) -> bool:
    """Whether only views read a tensor, and only views the results of those that have all of its elements."""
    return all(is_view(user) and (_is_part(user, node) or _is_read_in_parts(user)) for user in node.users)


def _is_part(view: Node, whole: Node) -> bool:
    """Whether a view has fewer elements, or is a list of views."""
    found = view.meta["val"]
    return not isinstance(found, Tensor) or found.numel() < whole.meta["val"].numel()
