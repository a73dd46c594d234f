# SPDX-License-Identifier: BSD-3-Clause
"""Hostile LoRA adapters: the files of PEFT and of a program, with changed settings, descriptions and bytes, and
functions that read them."""

from __future__ import annotations

import functools
import io
import json
import os
import random
import struct
import tempfile
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from test_adapter_files import HOW, PLACES, program_with
from test_lora import LORA, RANK

from sdk.extension.llm.export.adapter_file import write_adapter
from sdk.extension.llm.export.checkpoint import CheckpointError

PREFIX = "base_model.model.model.layers.0.self_attn.q_proj.lora_"
SAFETENSORS, PICKLE = "adapter_model.safetensors", "adapter_model.bin"
_NAMES = ("adapter_config.json", "lora.pte", SAFETENSORS, PICKLE)
_HOSTILE: list[Any] = [
    None,
    *(True, False, 0, 1, -1, 3, 4, 8, 64, 2**31, 2**63, 2**64, 10**400, 0.5, 1e308, float("nan"), float("inf")),
    *("", "q_proj", "k_proj", "LORA", "all", "none", "x" * 9999, "\0", "é" * 500),
    *([], ["q_proj"], ["q_proj"] * 5000, [["q_proj"]], [1], {}, {"q_proj": 2}, {"a": {"b": {}}}),
]
_RAN = "ran_by_an_adapter"
_DTYPES = ("F32", "F16", "BF16", "F64", "I64", "U8", "BOOL", "F8_E4M3", "X")


class _Command:
    """A command that no pickle may run. It would make a file in the current folder."""

    def __reduce__(self) -> Any:
        return os.system, (f"touch {_RAN}",)


def weights() -> dict[str, torch.Tensor]:
    """The weights of the adapter that is changed, which has one layer."""
    torch.manual_seed(1)
    return {f"{PREFIX}A.weight": torch.randn(RANK, 64), f"{PREFIX}B.weight": torch.randn(64, RANK)}


@functools.cache
def _program() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return program_with(Path(folder) / "lora.pte").read_bytes()


def whole(weights_file: str = SAFETENSORS) -> dict[str, bytes]:
    """An adapter and its program, by the names of their files."""
    if weights_file == SAFETENSORS:
        stored = save(weights())
    else:
        buffer = io.BytesIO()
        torch.save(weights(), buffer)
        stored = buffer.getvalue()
    config = json.dumps({**LORA, "target_modules": ["q_proj"]}).encode()
    return {"adapter_config.json": config, "lora.pte": _program(), weights_file: stored}


def _nested(value: Any, rng: random.Random) -> Any:
    """A JSON document in which one value is replaced."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        return {**value, key: _nested(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.7:
        at = rng.randrange(len(value))
        return [*value[:at], _nested(value[at], rng), *value[at + 1 :]]
    return rng.choice(_HOSTILE)


def _changed_config(data: bytes, rng: random.Random) -> bytes:
    how = rng.randrange(8)
    if how == 0:
        return rng.choice([b"", b"[]", b"3", b"{", b"[" * 100_000, b'{"a":' * 50_000, b"\xff\xfe", b'{"r": 1e999}'])
    config = json.loads(data)
    if how == 1:
        del config[rng.choice(list(config))]
    elif how == 2:
        names = ("rank_pattern", "use_dora", "bias", "alpha_pattern", "use_rslora", "modules_to_save", "peft_type", "x")
        config[rng.choice(names)] = rng.choice(_HOSTILE)
    else:
        config = _nested(config, rng)
    return json.dumps(config).encode()


def _changed_safetensors(data: bytes, rng: random.Random) -> bytes:
    """The file with other types, sizes, offsets or names in its JSON header, or with a wrong length of the header."""
    (size,) = struct.unpack_from("<Q", data)
    header, body = json.loads(data[8 : 8 + size]), data[8 + size :]
    how = rng.randrange(7)
    entry = header[rng.choice([key for key in header if key != "__metadata__"])]
    if how == 0:
        entry["dtype"] = rng.choice(_DTYPES)
    elif how == 1:
        sizes = [[], [0], [64, RANK], [-1, 64], [2**31, 2**33], [2**63, 2], [1] * 5000]
        entry["shape"] = rng.choice([*sizes, _nested(entry["shape"], rng)])
    elif how == 2:
        places = ([0, 0], [0, len(body)], [len(body), 0], [0, 2**63], [-4, 0])
        entry["data_offsets"] = rng.choice([*places, _nested(entry["data_offsets"], rng)])
    elif how == 3:
        others = (PREFIX + "A.weight", "", "x" * 70_000, "__metadata__", PREFIX.replace("layers.0", "layers.9" * 30))
        header[rng.choice(others)] = entry
    elif how == 4:
        header["__metadata__"] = rng.choice([{"tensor_names": "["}, {"tensor_names": '["a"]'}, {"a": 1}, [], None])
    elif how == 5:
        header = _nested(header, rng)
    text = json.dumps(header).encode()
    size = rng.choice([0, 1, 2**20, 2**40, 2**63, 2**64 - 1]) if how == 6 else len(text)
    return struct.pack("<Q", size) + text + body


def _changed_pickle(data: bytes, rng: random.Random) -> bytes:
    """A pickle with other objects in place of tensors."""
    tensor = next(iter(weights().values()))
    others: list[Any] = [
        [tensor],
        tensor,
        {3: tensor},
        {PREFIX + "A.weight": 3},
        {PREFIX + "A.weight": [tensor]},
        {**weights(), PREFIX + "A.weight": _Command()},
        _Command(),
        {PREFIX + "A.weight": torch.zeros(1).expand(1 << 20, 1 << 20)},
        {PREFIX + "A.weight": torch.zeros(RANK, 64, dtype=rng.choice([torch.int32, torch.complex64, torch.bool]))},
        {PREFIX + "A.weight": torch.zeros(RANK, 64).to_sparse()},
        {PREFIX + "A.weight": torch.full((RANK, 64), float("nan")), PREFIX + "B.weight": torch.zeros(64, RANK)},
    ]
    buffer = io.BytesIO()
    torch.save(rng.choice(others), buffer, _use_new_zipfile_serialization=rng.random() < 0.6)
    return buffer.getvalue()


def _changed_program(_: bytes, rng: random.Random) -> bytes:
    places = dict(PLACES)
    how: Any = dict(HOW)
    if rng.random() < 0.5:
        how = _nested(how, rng)
    else:
        sizes = [[4], [0, 64], [-4, 64], [2**31 - 1] * 2, [3, 64], [64, 4], [1] * 17, []]
        places[rng.choice([*places, "layers.1.attention.wq.lora_a.weight"])] = rng.choice(sizes)
    with tempfile.TemporaryDirectory() as folder:
        return program_with(Path(folder) / "lora.pte", how=how, places=places).read_bytes()


_CHANGES = {
    "adapter_config.json": _changed_config,
    "lora.pte": _changed_program,
    SAFETENSORS: _changed_safetensors,
    PICKLE: _changed_pickle,
}


def _changed_bytes(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        if changed:
            at = rng.randrange(min(len(changed), rng.choice([64, 1000, len(changed)])))
            changed[at] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
    if rng.random() < 0.2 and changed:
        del changed[rng.randrange(len(changed)) :]
    return bytes(changed)


def hostile_file(rng: random.Random) -> bytes:
    """An adapter with its program, as `joined()` packs them. Usually one or two of the files are changed."""
    files = whole(rng.choice([SAFETENSORS, PICKLE]))
    for name in rng.sample(list(files), rng.choice([0, 1, 1, 1, 1, 2])):
        change = _changed_bytes if rng.random() < 0.4 else _CHANGES[name]
        files[name] = change(files[name], rng)
    return joined(files)


def joined(files: dict[str, bytes]) -> bytes:
    """Files as one."""
    return b"".join(struct.pack("<BQ", _NAMES.index(name), len(data)) + data for name, data in files.items())


def read(path: Path) -> str:
    """Makes the file of an adapter: "written", or "refused" with an error that names a file or a weight."""
    data, at = path.read_bytes(), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        while at < len(data):
            number, size = struct.unpack_from("<BQ", data, at)
            (folder / _NAMES[number]).write_bytes(data[at + 9 : at + 9 + size])
            at += 9 + size
        try:
            write_adapter(folder, folder / "lora.pte", folder / "out.ptd")
            outcome = "written"
            assert (folder / "out.ptd").stat().st_size > RANK * 64 * 8
        except CheckpointError as error:
            outcome = "refused"
            assert any(part in str(error) for part in ("adapter_", "lora", "layers.")), f"{error} names no file"
            assert len(str(error)) < 20_000, "a message of an adapter is as long as the file"
    assert not Path(_RAN).exists(), "reading an adapter ran a command"
    return outcome
