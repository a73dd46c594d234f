# SPDX-License-Identifier: BSD-3-Clause
"""The structure of inputs and outputs as text, as a program stores it."""

from __future__ import annotations

import json
import keyword
import re
import sys
from collections import defaultdict, namedtuple
from enum import Enum
from typing import Any

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


_NO_TREE = "is not the structure of a program's inputs or outputs"


def decode_tree(serialized: str) -> pytree.TreeSpec:
    """The tree of `encode_tree`, or of the compact form that the C++ pytree library writes: `$` for a leaf, and
    `T2#1#1($,$)`, `L...` or `D...` for a tuple, list or dict of two, with the number of leaves of each and, in a
    dict, the keys.

    Raises ValueError for text that is neither.
    """
    try:
        if serialized.startswith("["):
            return pytree.treespec_loads(check_tree(serialized))
        spec, rest = _read_compact(serialized)
    except Exception as error:  # torch's reader fails in many ways on other text
        raise ValueError(f"{serialized[:80]!r} {_NO_TREE}: {error}") from error
    if rest:
        raise ValueError(f"{serialized[:80]!r} {_NO_TREE}: {rest[:20]!r} is left")
    return spec


_DEEPEST = 100
_FACTORIES = frozenset(("list", "dict", "int", "float", "str", "bool", "set", "tuple"))


def check_tree(text: str, *, as_source: bool = False) -> str:
    """Returns `text` if it is a tree in PyTorch's JSON form that PyTorch can read without running what the text names:
    its reader imports the modules of enumerations and of a defaultdict's factory. With `as_source`, the tree must also
    be safe to paste into Python source: keys of dicts without quotes or escapes, and keyword arguments with valid
    names. Raises ValueError otherwise."""
    try:
        version, root = json.loads(text)
        if version != 1:
            raise ValueError(f"its version is {version!r}, expected 1")
        _check_node(root, as_source, 0)
        if as_source:
            _check_keywords(root)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{text[:80]!r} is not the structure of inputs or outputs: {error}") from error
    return text


def _check_node(node: dict[str, Any], as_source: bool, depth: int) -> None:
    if depth > _DEEPEST:
        raise ValueError(f"it nests more than {_DEEPEST} deep")
    kind, context = node["type"], node["context"]
    for child in node["children_spec"]:
        _check_node(child, as_source, depth + 1)
    if kind is None:
        if context is not None or node["children_spec"]:
            raise ValueError("a leaf has children")
        return
    if type(kind) is not str or kind not in pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise ValueError(f"{kind!r} is not a container that is registered here; import what registers it")
    container = pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE[kind]
    if container is defaultdict:
        module, name = context["default_factory_module"], context["default_factory_name"]
        if module != "builtins" or name not in _FACTORIES:
            raise ValueError(f"a defaultdict is filled by {module!r}, {name!r}")
        context = context["dict_context"]
    elif pytree.SUPPORTED_SERIALIZED_TYPES[container].from_dumpable_context is None:
        context = json.loads(context)
    _check_context(context, as_source, 0)


def _check_context(context: Any, as_source: bool, depth: int) -> None:
    """Checks the keys of dicts, and whatever else the context of a container is made of."""
    if depth > _DEEPEST:
        raise ValueError(f"it nests more than {_DEEPEST} deep")
    if isinstance(context, str):
        if as_source and not is_plain(context):
            raise ValueError(f"the key {context[:80]!r} has quotes, backslashes, braces or control characters")
    elif isinstance(context, list):
        for item in context:
            _check_context(item, as_source, depth + 1)
    elif isinstance(context, dict):
        if "__enum__" in context:
            _check_enumeration(context)
        for key, item in context.items():
            _check_context(key, as_source, depth + 1)
            _check_context(item, as_source, depth + 1)


def _check_enumeration(context: dict[str, Any]) -> None:
    module, _, name = context["fqn"].partition(":")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not (isinstance(found, type) and issubclass(found, Enum) and context["name"] in found.__members__):
        raise ValueError(f"{context['fqn'][:80]!r} is not an enumeration of a module that is imported")


def is_plain(text: str) -> bool:
    """Whether a text can stand between the quotes of a Python string literal."""
    return text.isprintable() and not any(sign in text for sign in "\"'\\{}")


def _check_keywords(root: dict[str, Any]) -> None:
    children = root["children_spec"]
    if root["type"] == "builtins.tuple" and len(children) == 2 and children[1]["type"] == "builtins.dict":
        for name in json.loads(children[1]["context"]):
            if not (isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)):
                raise ValueError(f"{str(name)[:80]!r} is not the name of an argument")


_COMPACT = re.compile(r"([TLD])(\d+)((?:#\d+)*)\(")
_KEY = re.compile(r"(?:'([^']*)'|(-?\d+)):")
_LEAF = pytree.tree_structure(0)


def _read_compact(text: str) -> tuple[pytree.TreeSpec, str]:
    """The tree at the start of `text`, and the rest of `text`."""
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
