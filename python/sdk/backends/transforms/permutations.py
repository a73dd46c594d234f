# SPDX-License-Identifier: BSD-3-Clause
"""Properties of views and permutations of the edge dialect."""

from __future__ import annotations

import torch
from torch.fx import Node

from sdk.exir.dialects._ops import ops as exir_ops

aten = exir_ops.edge.aten
VIEW, PERMUTE, TRANSPOSE = aten.view_copy.default, aten.permute_copy.default, aten.transpose_copy.int
PERMUTATIONS = (PERMUTE, TRANSPOSE)


def shape_of(node: Node) -> list[int | torch.SymInt]:
    return list(node.meta["val"].shape)


def permutation_of(node: Node) -> list[int] | None:
    """The input dimension for each dimension of the result of a permute or transpose; None for other calls."""
    if node.target == PERMUTE:
        rank = len(node.args[1])
        return [dim % rank for dim in node.args[1]]
    if node.target != TRANSPOSE:
        return None
    dims = list(range(len(shape_of(node))))
    first, second = (dim % len(dims) for dim in node.args[1:3])
    dims[first], dims[second] = dims[second], dims[first]
    return dims


def moves_no_elements(node: Node, dims: list[int]) -> bool:
    """Whether a permutation of the input's dimensions leaves each element where it is: only sizes of 1 move."""
    source = node.args[0]
    assert isinstance(source, Node)
    sizes = shape_of(source)
    kept = [dim for dim in dims if not (isinstance(sizes[dim], int) and sizes[dim] == 1)]
    return kept == sorted(kept)


def extra_one(longer: list, shorter: list) -> int | None:
    """The position of the size 1 in `longer` if removing it gives `shorter`; otherwise None."""
    if len(longer) != len(shorter) + 1:
        return None
    for position, size in enumerate(longer):
        if isinstance(size, int) and size == 1 and longer[:position] + longer[position + 1 :] == shorter:
            return position
    return None
