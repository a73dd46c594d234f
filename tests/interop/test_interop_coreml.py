# SPDX-License-Identifier: BSD-3-Clause
"""Payloads for Core ML and the original's module `executorchcoreml`, in both directions."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from exchange_apple import MODELS

from interop.originals import InOriginal
from sdk.backends.apple.coreml.container import pack, read_folder, unpack

pytestmark = [pytest.mark.oracle, pytest.mark.network]
HERE = Path(__file__).resolve().parent
NAMES = "abcXYZ01 _-.äßé漢"  # without quotes and empty files, at which the original's reader ends the process
SIZES = (1, 2, 63, 64, 65, 1000, 5000)
FILES = 4096
"""Bytes of a payload in addition to weights and program: lists of files, names, and a header and padding for each
weight."""


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


def test_random_folders(in_original: InOriginal, tmp_path: Path) -> None:
    """CML-19: for 1,000 random folders, the original's payloads contain the files, our payloads with the files in the
    same order have the same bytes, and the original unpacks ours."""
    chance = random.Random(1)
    trees = {f"folder_{number}": _random_tree(chance) for number in range(1000)}
    for folder in ("folders", "ours"):
        (tmp_path / folder).mkdir()
    for name, tree in trees.items():
        _write(tree, tmp_path / "folders" / name)
        (tmp_path / "ours" / name).write_bytes(pack(read_folder(tmp_path / "folders" / name), name))
    in_original(HERE / "oracle_coreml.py", tmp_path)
    for name, tree in trees.items():
        theirs = (tmp_path / "theirs" / name).read_bytes()
        root, found = unpack(theirs)
        assert root == name and _plain(found) == tree
        assert pack(found, name) == theirs
        assert _plain(read_folder(tmp_path / "unpacked" / name)) in (tree, {name: tree})


@pytest.fixture(scope="module")
def coremltools() -> Path:
    """The folder of coremltools, which is not in the environment."""
    script = HERE.parents[1] / "backends" / "apple" / "coreml" / "test" / "install_coremltools"
    return Path(subprocess.run([script], check=True, stdout=subprocess.PIPE, text=True).stdout.strip())


REFUSED = {"unet.fp16": "expected minimum 3 inputs", "condition.fp16": 'submod_node.op == "get_attr"'}
"""Models that the original does not lower, and its errors: for a pooling without strides, and for torch.cond."""


@pytest.mark.parametrize(
    ("names", "precisions"),
    [
        (["mlp"], ["fp32", "fp16"]),
        # float16 would round some activations to the next of their 256 numbers.
        pytest.param(["static"], ["fp32"], marks=pytest.mark.slow, id="static"),
        pytest.param(
            [name for name in MODELS if name not in ("mlp", "static")], ["fp16"], marks=pytest.mark.slow, id="all"
        ),
    ],
)
def test_whole_programs(
    oracle_python: str, coremltools: Path, names: list[str], precisions: list[str], tmp_path: Path
) -> None:
    """CML-19: programs that the original lowers give eager's results in the interpreter, as ours do, and the original
    unpacks our payloads to the same files. Ours are no larger, and leave no more operators outside."""
    script = [sys.executable, "-W", "ignore", HERE / "exchange_coreml.py", oracle_python, tmp_path]
    environment = {**os.environ, "PYTHONPATH": str(coremltools)}
    subprocess.run([*script, ",".join(precisions), *names], check=True, env=environment)
    found = json.loads((tmp_path / "figures.json").read_text())
    assert set(found) == {f"{name}.{precision}" for name in names for precision in precisions}
    for case, each in found.items():
        limit = 1e-5 if case.endswith("fp32") else 5e-3
        ours, theirs = each["ours"], each["theirs"]
        assert ours["difference"] <= limit, case
        if each["bound"]:
            assert ours["payload"] <= 1.01 * each["bound"] + FILES * ours["delegates"], case
        if case in REFUSED:
            assert REFUSED[case] in theirs["error"]
            continue
        assert theirs["difference"] <= limit, case
        assert ours["payload"] <= 1.01 * theirs["payload"], case
        assert len(ours["outside"]) <= len(theirs["outside"]), (case, ours, theirs)
    for payload in sorted((tmp_path / "ours").iterdir()):
        root, tree = unpack(payload.read_bytes())
        files = _plain(tree)
        assert _plain(read_folder(tmp_path / "unpacked" / payload.name)) in (files, {root: files}), payload.name
