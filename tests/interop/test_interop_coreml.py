# SPDX-License-Identifier: BSD-3-Clause
"""Payloads for Core ML and the original's module `executorchcoreml`, in both directions."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import Any

from sdk.backends.apple.coreml.container import pack, read_folder, unpack

HERE = Path(__file__).resolve().parent
NAMES = "abcXYZ01 _-.äßé漢"  # without quotes and empty files, at which the original's reader ends the process
SIZES = (1, 2, 63, 64, 65, 1000, 5000)


def _random_tree(chance: random.Random, depth: int = 0) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for _ in range(chance.randint(1, 4)):
        name = "".join(chance.choice(NAMES) for _ in range(chance.randint(1, 12)))
        if name in (".", ".."):
            continue
        is_folder = depth < 4 and chance.random() < 0.4
        tree[name] = _random_tree(chance, depth + 1) if is_folder else chance.randbytes(chance.choice(SIZES))
    return tree


def _write(tree: dict[str, Any], path: Path) -> None:
    path.mkdir()
    for name, entry in tree.items():
        if isinstance(entry, dict):
            _write(entry, path / name)
        else:
            (path / name).write_bytes(entry)


def _plain(tree: Any) -> dict[str, Any]:
    return {name: _plain(entry) if hasattr(entry, "items") else bytes(entry) for name, entry in tree.items()}


def test_random_folders(oracle_python: str, tmp_path: Path) -> None:
    """CML-19: of 1,000 random folders the original's payloads hold the files, ours in the same order are the same
    bytes, and the original unpacks ours."""
    chance = random.Random(1)
    trees = {f"folder_{number}": _random_tree(chance) for number in range(1000)}
    for folder in ("folders", "ours"):
        (tmp_path / folder).mkdir()
    for name, tree in trees.items():
        _write(tree, tmp_path / "folders" / name)
        (tmp_path / "ours" / name).write_bytes(pack(read_folder(tmp_path / "folders" / name), name))
    subprocess.run([oracle_python, str(HERE / "oracle_coreml.py"), str(tmp_path)], check=True)
    for name, tree in trees.items():
        theirs = (tmp_path / "theirs" / name).read_bytes()
        root, found = unpack(theirs)
        assert root == name and _plain(found) == tree
        assert pack(found, name) == theirs
        assert _plain(read_folder(tmp_path / "unpacked" / name)) in (tree, {name: tree})
