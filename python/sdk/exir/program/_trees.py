# SPDX-License-Identifier: BSD-3-Clause
"""The structure of inputs and outputs as text, as a program stores it."""

from __future__ import annotations

from torch.utils import _pytree as pytree


def encode_tree(spec: pytree.TreeSpec | None) -> str:
    """A tree in PyTorch's JSON form; "" for none.

    What torch.max, torch.sort and the like return is a tuple with named fields whose type has no name in that form:
    it is written as a plain tuple.
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
    if getattr(kind, "__module__", "") == "torch.return_types":
        kind, context = tuple, None
    return pytree.TreeSpec(kind, context, children)
