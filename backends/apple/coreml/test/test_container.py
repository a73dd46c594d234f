# SPDX-License-Identifier: BSD-3-Clause
"""The payload: packing, unpacking and hostile input."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sdk.backends.apple.coreml.container import (
    PayloadError,
    SharedModel,
    pack,
    pack_shared,
    read_folder,
    unpack,
    unpack_shared,
    write_folder,
)
from sdk.backends.apple.coreml.executorchcoreml import flatten_directory_contents, unflatten_directory_contents
from sdk.backends.apple.coreml.extract import extract


def _plain(tree: Any) -> Any:
    return {k: _plain(v) for k, v in tree.items()} if hasattr(tree, "items") else bytes(tree)


def _random_tree(numbers: random.Random, depth: int = 0) -> dict[str, Any]:
    alphabet = 'ab.Z_ -é日"\\\n\x01<&'
    tree: dict[str, Any] = {}
    for _ in range(numbers.randint(0, 4)):
        name = "".join(numbers.choice(alphabet.replace("\\", "")) for _ in range(numbers.randint(1, 6)))
        if name.strip(".") == "":
            continue
        folder = depth < 3 and numbers.random() < 0.4
        tree[name] = _random_tree(numbers, depth + 1) if folder else numbers.randbytes(numbers.randint(0, 200))
    return tree


def test_the_bytes_of_a_payload() -> None:
    """The layout as documented: files, then the JSON directory in reverse, children before parents, the root last."""
    payload = pack({"b": {"c": b"xyz"}, "a": b"hello"}, "root")
    directory = (
        b'{"nodes":[{"children":{},"dataRegion":{"offset":0,"size":3},"kind":0,"name":"c"},'
        b'{"children":{"c":0},"dataRegion":{"offset":0,"size":0},"kind":1,"name":"b"},'
        b'{"children":{},"dataRegion":{"offset":3,"size":5},"kind":0,"name":"a"},'
        b'{"children":{"a":2,"b":1},"dataRegion":{"offset":0,"size":0},"kind":1,"name":"root"}]}'
    )
    assert payload == b"xyzhello" + directory[::-1]


def test_random_folders_survive() -> None:
    numbers = random.Random(0)
    for _ in range(300):
        tree = _random_tree(numbers)
        payload = pack(tree, "r")
        name, unpacked = unpack(payload)
        assert _plain(unpacked) == tree
        assert pack(unpacked, name) == payload


def test_folders_on_disk_survive(tmp_path: Path) -> None:
    numbers = random.Random(1)
    for i in range(20):
        tree = _random_tree(numbers)
        write_folder(tree, tmp_path / f"in{i}")
        payload = flatten_directory_contents(str(tmp_path / f"in{i}"))
        (tmp_path / f"out{i}").mkdir()
        assert unflatten_directory_contents(payload, str(tmp_path / f"out{i}"))
        assert _plain(read_folder(tmp_path / f"out{i}" / f"in{i}")) == tree


def test_a_folder_that_exists_is_kept(tmp_path: Path) -> None:
    payload = pack({"a": b"1"}, "r")
    (tmp_path / "r").mkdir()
    with pytest.raises(PayloadError, match="exists already"):
        unflatten_directory_contents(payload, str(tmp_path))
    assert list((tmp_path / "r").iterdir()) == []


def test_links_are_not_packed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    with pytest.raises(PayloadError, match="neither a file nor a folder"):
        flatten_directory_contents(str(tmp_path))


def _node(name: Any = "f", kind: Any = 0, offset: Any = 0, size: Any = 0, children: Any = None) -> dict[str, Any]:
    return {"children": children or {}, "dataRegion": {"offset": offset, "size": size}, "kind": kind, "name": name}


def _payload(*nodes: Any, data: bytes = b"") -> bytes:
    return data + json.dumps({"nodes": nodes}).encode()[::-1]


_ROOT = {"name": "r", "kind": 1}


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (b"", "empty payload"),
        (b"abc", "does not end with a directory"),
        (b"{", "no end"),
        (b"}}{", "not JSON|no list"),
        (b'}"sedon"{', "not JSON"),
        (_payload(), "no list `nodes`"),
        (_payload("x"), "no valid"),
        (_payload(_node()), "root of the directory is a file"),
        (_payload(_node(size=1), _node(**_ROOT, children={"f": 0})), "has 1 bytes at offset 0"),
        (_payload(_node(offset=1 << 62, size=1 << 62), _node(**_ROOT, children={"f": 0})), "bytes at offset"),
        (_payload(_node(offset=-1), _node(**_ROOT, children={"f": 0})), "no valid"),
        (_payload(_node(offset=1.5), _node(**_ROOT, children={"f": 0})), "no valid"),
        (_payload(_node(kind=2), _node(**_ROOT, children={"f": 0})), "no valid"),
        (_payload(_node(kind=True), _node(**_ROOT, children={"f": 0})), "no valid"),
        (_payload(_node(), _node(**_ROOT, children={"f": 1})), "children precede"),
        (_payload(_node(), _node(**_ROOT, children={"f": 7})), "children precede"),
        (_payload(_node(), _node(**_ROOT, children={"f": -1})), "no valid"),
        (_payload(_node(), _node(**_ROOT)), "not a tree"),
        (_payload(_node(), _node("d", 1, children={"f": 0}), _node(**_ROOT, children={"f": 0, "d": 1})), "not a tree"),
        (_payload(_node(), _node(**_ROOT, children={"g": 0})), "its folder calls it 'g'"),
        (_payload(_node(), _node("d", 0, children={"f": 0}), _node(**_ROOT, children={"d": 1})), "has children"),
        (_payload(_node("a", size=5), _node("b", size=5), _node(**_ROOT, children={"a": 0, "b": 1}), data=b"12345"),
         "has 5 bytes at offset 0"),
        *(
            (_payload(_node(name), _node(**_ROOT, children={name: 0})), "would lead out|no valid")
            for name in ("", ".", "..", "a/b", "/etc", "a\\b", "a\0b")
        ),
        (_payload(_node(5), _node(**_ROOT, children={"5": 0})), "would lead out"),
        (b'}]}"r":"eman",1:"dnik"{[:"sedon",[]:"sedon"{'[::1], "not JSON|twice|no end|no valid"),
    ],
)  # fmt: skip
def test_hostile_payloads_are_refused(payload: bytes, words: str) -> None:
    with pytest.raises(PayloadError, match=words):
        unpack(payload)


def test_damaged_payloads_are_refused_or_read() -> None:
    """A payload with a changed byte, or a truncated one, gives only the expected error, and never a file that the
    original payload did not have."""
    payload = pack({"a": b"hello", "d": {"b": b"there"}}, "r")
    numbers = random.Random(2)
    for _ in range(2000):
        damaged = bytearray(payload)
        for _ in range(numbers.randint(1, 3)):
            damaged[numbers.randrange(len(damaged))] = numbers.randrange(256)
        damaged = damaged[numbers.randrange(8) :]
        try:
            unpack(bytes(damaged))
        except PayloadError:
            continue


def test_deep_directories_are_refused() -> None:
    nodes = [_node("f")] + [_node("f", 1, children={"f": i}) for i in range(100)]
    with pytest.raises(PayloadError, match="levels"):
        unpack(_payload(*nodes))
    with pytest.raises(PayloadError, match="nested too deeply"):
        unpack((b'{"nodes":' + b"[" * 100000)[::-1])


def test_payloads_that_name_a_model() -> None:
    """Such a payload is CMJR and JSON with the version, the model's key and the function."""
    payload = pack_shared(SharedModel("coreml_x", "decode"))
    assert payload == b'CMJR{"version": 1, "key": "coreml_x", "functionName": "decode"}'
    assert unpack_shared(payload) == SharedModel("coreml_x", "decode")
    assert unpack_shared(pack({})) is None


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (b"CMJR", "not JSON"),
        (b"CMJR[]", "expected an object"),
        (b'CMJR{"version": 2, "key": "a", "functionName": "b"}', "version 2"),
        (b'CMJR{"version": 1, "functionName": "b"}', "no text `key`"),
        (b'CMJR{"version": 1, "key": "a", "functionName": 3}', "no text `functionName`"),
        (b"CMJR" + b" " * 100000, "at most"),
    ],
)
def test_damaged_payloads_that_name_a_model(payload: bytes, words: str) -> None:
    with pytest.raises(PayloadError, match=words):
        unpack_shared(payload)


def test_models_with_similar_names_have_their_own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keys may differ in case or in characters that folders do not have, or equal the name of a method's model."""
    keys = ["a.b", "a_b", "A_B", "forward_0"]
    trees = {key: {"metadata.json": key.encode()} for key in [*keys, "own"]}
    payloads = [pack(trees["own"]), *(pack_shared(SharedModel(key, "forward")) for key in [*keys, "a.b"])]
    delegates = [
        SimpleNamespace(id="CoreMLBackend", processed=SimpleNamespace(index=at)) for at in range(len(payloads))
    ]
    program = SimpleNamespace(
        execution_plan=[SimpleNamespace(name="forward", delegates=delegates)],
        backend_delegate_data=[SimpleNamespace(data=payload) for payload in payloads],
    )
    named = SimpleNamespace(
        buffers=[pack(trees[key]) for key in keys],
        pte_data={key: SimpleNamespace(buffer_index=at) for at, key in enumerate(keys)},
    )
    file = SimpleNamespace(program=program, named_data=named)
    monkeypatch.setattr("sdk.backends.apple.coreml.extract.deserialize_pte_binary", lambda data: file)
    models = extract(b"", tmp_path / "models")
    assert [model.name for model in models] == ["forward_0", "a_b", "a_b_2", "A_B_3", "forward_0_2"]
    assert [model.methods for model in models] == [["forward"], ["forward"] * 2, *[["forward"]] * 3]
    for model, key in zip(models, ["own", *keys], strict=True):
        assert (tmp_path / "models" / model.name / "metadata.json").read_bytes() == key.encode()
