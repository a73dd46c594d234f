# SPDX-License-Identifier: BSD-3-Clause
"""The payload of a delegate of Core ML: a folder in one sequence of bytes.

    payload = contents of the files, in sequence; then the directory, its bytes in reverse order
    directory = {"nodes": [node, ...]}, compact JSON in UTF-8
    node = {"children": {name: node's index}, "dataRegion": {"offset": o, "size": s}, "kind": 0 | 1, "name": name}

`kind` is 0 for a file and 1 for a folder. Children precede their folder, and the last node is the root. The directory
is reversed so that a reader that starts at the last byte reads it from its beginning.

Methods that share weights have a payload that only names a model: `CMJR`, then JSON with `version`, `key` (the key in
the program's named data under which the folder is stored) and `functionName`.

Payloads are untrusted. `unpack` checks all of a payload before it returns anything.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

Tree: TypeAlias = "Mapping[str, bytes | memoryview | Tree]"
"""A folder: the contents of its files and its folders, by name."""

SHARED_MAGIC = b"CMJR"
_SHARED_VERSION = 1
_MOST_DIRECTORY = 16 << 20  # bytes; Core ML's packages have less than 20 files
_MOST_NODES = 1 << 16
_MOST_DEPTH = 64
_SHARED_LIMIT = 64 << 10
_FILE, _FOLDER = 0, 1
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)


class PayloadError(ValueError):
    """A payload is damaged, or a folder cannot be packed. The message says what was expected and found."""


@dataclass(frozen=True)
class SharedModel:
    """A payload that names a function of a model in the program's named data."""

    key: str
    function_name: str


def pack(tree: Tree, name: str = "lowered_module") -> bytes:
    """The payload of a folder called `name`. Its files are in the order of `tree`; sort the tree to get the same
    bytes each time.

    Raises:
        PayloadError: a name is empty, `.` or `..`, or has `/`, `\\`, a null character or a surrogate.
    """
    contents: list[bytes | memoryview] = []
    nodes: list[dict[str, Any]] = []
    size = 0

    def add(name: str, entry: bytes | memoryview | Tree) -> int:
        nonlocal size
        _check_name(name)
        children: dict[str, int] = {}
        region = {"offset": 0, "size": 0}
        if isinstance(entry, Mapping):
            for child, value in entry.items():
                children[child] = add(child, value)
            # ExecuTorch sorts children by their bytes.
            children = dict(sorted(children.items(), key=lambda item: item[0].encode()))
        else:
            region = {"offset": size, "size": len(entry)}
            contents.append(entry)
            size += len(entry)
        kind = _FOLDER if isinstance(entry, Mapping) else _FILE
        nodes.append({"children": children, "dataRegion": region, "kind": kind, "name": name})
        return len(nodes) - 1

    add(name, tree)
    directory = json.dumps({"nodes": nodes}, ensure_ascii=False, separators=(",", ":")).encode()
    return b"".join([*contents, directory[::-1]])


def unpack(payload: bytes | memoryview) -> tuple[str, Tree]:
    """The name of the folder in a payload, and its files as views of the payload, in the payload's order.

    Raises:
        PayloadError: the payload is damaged, or a name would lead out of the folder.
    """
    view = memoryview(payload).cast("B")
    text = _directory(view)
    nodes = _nodes(text)
    available = len(view) - len(text)
    pending = dict.fromkeys(range(len(nodes)), 0)  # how many folders hold the node
    for index, node in enumerate(nodes):
        for child in node["children"].values():
            if not child < index:
                raise PayloadError(
                    f"node {index} of the directory has the child {child}; children precede their folder"
                )
            pending[child] += 1
    if any(count != 1 for count in list(pending.values())[:-1]):
        raise PayloadError("the directory is not a tree: a node belongs to no folder, or to several")
    stored = 0
    made: list[bytes | memoryview | Tree] = []
    depths: list[int] = []
    for index, node in enumerate(nodes):
        offset, size = node["dataRegion"]
        depths.append(1 + max((depths[child] for child in node["children"].values()), default=0))
        if depths[-1] > _MOST_DEPTH:
            raise PayloadError(f"the directory has more than {_MOST_DEPTH} levels")
        for name, child in node["children"].items():
            if nodes[child]["name"] != name:
                raise PayloadError(f"node {child} is called {nodes[child]['name']!r}, but its folder calls it {name!r}")
        if node["kind"] == _FOLDER:
            stored_order = sorted(node["children"].items(), key=lambda item: item[1])
            made.append({name: made[child] for name, child in stored_order})
            continue
        if node["children"]:
            raise PayloadError(f"node {index} of the directory is a file and has children")
        stored += size
        # Files with overlapping contents could be larger in total than the payload.
        if offset > available or size > available - offset or stored > available:
            raise PayloadError(
                f"the file {node['name']!r} has {size} bytes at offset {offset}; the payload holds "
                f"{available} bytes of "
                "files"
            )
        made.append(view[offset : offset + size])
    if nodes[-1]["kind"] != _FOLDER:
        raise PayloadError("the root of the directory is a file; expected a folder")
    return str(nodes[-1]["name"]), cast(Tree, made[-1])


def _directory(view: memoryview) -> bytes:
    """The JSON at the end of a payload, in reading order."""
    if not view or view[-1] != ord("{"):
        raise PayloadError(
            "the payload does not end with a directory in reverse; expected `{` as its last byte, found "
            + (f"{bytes(view[-1:])!r}" if view else "an empty payload")
        )
    length = 1 << 14
    while True:
        part = bytes(view[-length:])[::-1]
        depth = 0
        for token in _TOKEN.finditer(part):
            depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(token.group(), 0)
            if depth == 0:
                return part[: token.end()]
            if depth > 8:
                raise PayloadError("the directory of the payload is nested too deeply")
        if length >= min(len(view), _MOST_DIRECTORY):
            raise PayloadError(f"the directory of the payload has no end within {min(len(view), length)} bytes")
        length *= 4


def _nodes(text: bytes) -> list[dict[str, Any]]:
    """The nodes of a directory, with the types of their fields checked and `dataRegion` as (offset, size)."""
    directory = _json(text, "the directory of the payload")
    nodes = directory.get("nodes")
    if not isinstance(nodes, list) or not 0 < len(nodes) <= _MOST_NODES:
        raise PayloadError(f"the directory of the payload has no list `nodes` of 1 to {_MOST_NODES} nodes")
    found = []
    for index, node in enumerate(nodes):
        node = node if isinstance(node, dict) else {}
        region, children, name, kind = (node.get(key) for key in ("dataRegion", "children", "name", "kind"))
        region = region if isinstance(region, dict) else {}
        children = children if isinstance(children, dict) else {"": None}
        numbers = [region.get("offset"), region.get("size"), kind, *children.values()]
        if not all(type(number) is int and 0 <= number < 1 << 63 for number in numbers) or kind not in (_FILE, _FOLDER):
            raise PayloadError(f"node {index} of the directory has no valid `children`, `dataRegion` and `kind`")
        if index < len(nodes) - 1 or name != "":  # only the root's name may be empty
            _check_name(name)
        found.append({"children": children, "dataRegion": (numbers[0], numbers[1]), "kind": kind, "name": name})
    return found


def _json(text: bytes, what: str) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise PayloadError(f"{what} has a key twice")
        return dict(pairs)

    try:
        found = json.loads(text.decode("utf-8"), object_pairs_hook=unique)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise PayloadError(f"{what} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise PayloadError(f"{what} is a {type(found).__name__}; expected an object")
    return found


def _check_name(name: Any) -> None:
    bad = not isinstance(name, str) or name in ("", ".", "..") or any(c in name for c in "/\\\0")
    if bad or any(0xD800 <= ord(c) < 0xE000 for c in name):
        raise PayloadError(f"{name!r} is not a name of a file or folder: it would lead out of the folder")


def read_folder(path: str | os.PathLike[str]) -> Tree:
    """The contents of a folder, sorted by name.

    Raises:
        PayloadError: the folder holds something that is neither a file nor a folder, such as a link.
    """
    tree: dict[str, bytes | memoryview | Tree] = {}
    for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
        if entry.is_dir(follow_symlinks=False):
            tree[entry.name] = read_folder(entry.path)
        elif entry.is_file(follow_symlinks=False):
            tree[entry.name] = Path(entry.path).read_bytes()
        else:
            raise PayloadError(f"{entry.path} is neither a file nor a folder, so it cannot be packed")
    return tree


def write_folder(tree: Tree, path: str | os.PathLike[str]) -> None:
    """Writes a folder at `path`, which must not exist. It appears there when it is complete.

    Raises:
        PayloadError: `path` exists.
        OSError: the folder cannot be written; nothing remains of it.
    """
    target = Path(path)
    if os.path.lexists(target):
        raise PayloadError(f"{target} exists already; give the path of a new folder, or remove it first")
    work = Path(tempfile.mkdtemp(prefix=".unpacked-", dir=target.parent))
    try:
        _write(tree, work / "folder")
        (work / "folder").rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _write(tree: Tree, path: Path) -> None:
    path.mkdir()
    for name, entry in tree.items():
        if isinstance(entry, Mapping):
            _write(entry, path / name)
        else:
            (path / name).write_bytes(entry)


def file_at(tree: Tree, *names: str) -> bytes | memoryview:
    """The contents of the file at a path in a folder. Raises PayloadError if there is none."""
    entry: bytes | memoryview | Tree | None = tree
    for name in names:
        entry = entry.get(name) if isinstance(entry, Mapping) else None
    if entry is None or isinstance(entry, Mapping):
        raise PayloadError(f"the payload has no file {'/'.join(names)}")
    return entry


def pack_shared(model: SharedModel) -> bytes:
    """The payload of a method whose model is in the program's named data."""
    text = {"version": _SHARED_VERSION, "key": model.key, "functionName": model.function_name}
    return SHARED_MAGIC + json.dumps(text).encode()


def unpack_shared(payload: bytes | memoryview) -> SharedModel | None:
    """The model that a payload names; None if the payload holds a folder instead.

    Raises:
        PayloadError: the payload is damaged, or a later version wrote it.
    """
    if bytes(payload[: len(SHARED_MAGIC)]) != SHARED_MAGIC:
        return None
    if len(payload) > _SHARED_LIMIT:
        raise PayloadError(f"the payload that names a model has {len(payload)} bytes; expected at most {_SHARED_LIMIT}")
    found = _json(bytes(payload[len(SHARED_MAGIC) :]), "the payload that names a model")
    if found.get("version") != _SHARED_VERSION:
        raise PayloadError(
            f"the payload that names a model has version {found.get('version')!r}; this SDK reads {_SHARED_VERSION}: "
            "update it, or export the model again"
        )
    for key in ("key", "functionName"):
        if not isinstance(found.get(key), str) or not found[key]:
            raise PayloadError(f"the payload that names a model has no text `{key}`")
    return SharedModel(found["key"], found["functionName"])
