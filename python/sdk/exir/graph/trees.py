# SPDX-License-Identifier: BSD-3-Clause
"""The structure of inputs and outputs as text, as a program stores it."""

from __future__ import annotations

from collections import namedtuple

from torch.utils import _pytree as pytree


def encode_tree(spec: pytree.TreeSpec | None) -> str:
    """A tree in PyTorch's JSON form; "" for none.

    A tuple with named fields whose type has no name in that form is written as a plain tuple: what torch.max, or
    torch.sort, returns, and the named tuples of models.
    """
    if spec is None:
        return ""
    try:
        return pytree.treespec_dumps(spec)
    except NotImplementedError:
        return pytree.treespec_dumps(_with_plain_tuples(spec))


def _with_plain_tuples(spec: pytree.TreeSpec) -> pytree.TreeSpec:
    if spec.is_leaf():
        return spec
    children = [_with_plain_tuples(child) for child in spec.children()]
    kind, context = spec.type, spec.context
    if getattr(kind, "__module__", "") == "torch.return_types" or (kind is namedtuple and not _has_name(spec)):
        kind, context = tuple, None
    return pytree.TreeSpec(kind, context, children)


def _has_name(spec: pytree.TreeSpec) -> bool:
    leaves = [pytree.tree_structure(0)] * spec.num_children
    try:
        pytree.treespec_dumps(pytree.TreeSpec(spec.type, spec.context, leaves))
    except NotImplementedError:
        return False
    return True
