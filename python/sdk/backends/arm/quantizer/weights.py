# SPDX-License-Identifier: BSD-3-Clause
"""Weights that the program reads in parts only, such as the input projection of an attention."""

from __future__ import annotations

import functools

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_map_only

from sdk.backends.arm.quantizer.masks import is_view, is_written
from sdk.backends.arm.quantizer.place import Place

_aten = torch.ops.aten


def divide_weights(model: GraphModule) -> None:
    """Makes weights of the parts of a weight. As the result of a call, a part would be quantised as an activation is,
    together with the others.

    A weight that is also read as a whole, whose parts overlap, or that the program writes to stays: copies of it would
    be trained separately, stored twice, or keep their first value.
    """
    readers: dict[Tensor, list[Node]] = {}
    for node in model.graph.find_nodes(op="get_attr"):
        value = functools.reduce(getattr, str(node.target).split("."), model)
        if isinstance(value, Tensor):
            readers.setdefault(value, []).append(node)
    for whole, nodes in readers.items():
        users = [user for node in nodes for user in node.users]
        if not all(map(is_view, users)) or any(map(is_written, nodes)):
            continue
        for places, positions in _parts(users, whole):
            part = whole.detach().reshape(-1)[positions]
            if isinstance(whole, torch.nn.Parameter):
                part = torch.nn.Parameter(part, whole.requires_grad)
            constant = Place(model, min(places), {}).constant(part)
            for place in places:
                place.replace_all_uses_with(constant)


def _parts(users: list[Node], whole: Tensor) -> list[tuple[list[Node], Tensor]]:
    """The views that read parts of a weight, by part, with the positions of the part's elements in the weight. Empty if
    its users do not only read separate parts."""
    every = torch.arange(whole.numel(), device=whole.device).reshape(whole.shape)
    found: list[tuple[list[Node], Tensor]] = []
    pending = [(user, every) for user in users]
    while pending:
        node, source = pending.pop()
        if not is_view(node) or len(node.all_input_nodes) != 1 or node.target is _aten.detach.default:
            return []
        args, kwargs = tree_map_only(Node, lambda _, given=source: given, (node.args, node.kwargs))
        positions = node.target(*args, **kwargs)
        if not isinstance(positions, Tensor) or positions.dtype != every.dtype or positions.numel() > whole.numel():
            return []
        if positions.numel() == whole.numel():
            pending += [(user, positions) for user in node.users]
            continue
        same = next((places for places, known in found if torch.equal(known, positions)), None)
        if same is None:
            found.append(([node], positions))
        else:
            same.append(node)
    is_read = torch.zeros(whole.numel(), dtype=torch.bool, device=whole.device)
    for _, positions in found:
        is_read[positions.reshape(-1)] = True
    separate = int(is_read.sum()) == sum(positions.numel() for _, positions in found)
    return found if separate else []
