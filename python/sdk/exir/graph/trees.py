# SPDX-License-Identifier: BSD-3-Clause
"""The structure of inputs and outputs as text, as a program stores it."""

from __future__ import annotations

import re
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


def decode_tree(text: str) -> pytree.TreeSpec:
    """The tree of `encode_tree`, or of the compact form that the C++ pytree library writes: `$` for a leaf, and
    `T2#1#1($,$)`, `L...` or `D...` for a tuple, list or dict of two, with the leaves of each and, in a dict, the keys.

    Raises ValueError for text that is neither.
    """
    try:
        if text.startswith("["):
            return pytree.treespec_loads(text)
        spec, rest = _read_compact(text)
    except Exception as error:  # torch's reader fails in many ways on text that is no tree
        raise ValueError(f"{text[:80]!r} is not the structure of a program's inputs or outputs: {error}") from error
    if rest:
        raise ValueError(f"{text[:80]!r} is not the structure of a program's inputs or outputs: {rest[:20]!r} is left")
    return spec


_COMPACT = re.compile(r"([TLD])(\d+)((?:#\d+)*)\(")
_KEY = re.compile(r"(?:'([^']*)'|(-?\d+)):")
_LEAF = pytree.tree_structure(0)


def _read_compact(text: str) -> tuple[pytree.TreeSpec, str]:
    """The tree at the start of `text`, and what follows it."""
    if text.startswith("$"):
        return _LEAF, text[1:]
    head = _COMPACT.match(text)
    if head is None:
        raise ValueError(f"expected $, T, L or D at {text[:20]!r}")
    kind, count, leaves = head[1], int(head[2]), [int(n) for n in head[3].split("#")[1:]]
    text = text[head.end() :]
    keys: list[str | int] = []
    children: list[pytree.TreeSpec] = []
    for index in range(count):
        if index > 0:
            text = _after(text, ",")
        if kind == "D":
            key = _KEY.match(text)
            if key is None:
                raise ValueError(f"expected a key at {text[:20]!r}")
            keys.append(key[1] if key[2] is None else int(key[2]))
            text = text[key.end() :]
        child, text = _read_compact(text)
        children.append(child)
    if leaves != [child.num_leaves for child in children]:
        raise ValueError(f"it says that the children have {leaves} leaves")
    text = _after(text, ")")
    container = {"T": tuple, "L": list, "D": dict}[kind]
    return pytree.TreeSpec(container, keys if kind == "D" else None, children), text


def _after(text: str, token: str) -> str:
    if not text.startswith(token):
        raise ValueError(f"expected {token!r} at {text[:20]!r}")
    return text[len(token) :]
