# SPDX-License-Identifier: BSD-3-Clause
"""Hostile ETRecords: a small whole one with changed JSON, tensors, members and bytes, and functions that read them."""

from __future__ import annotations

import functools
import io
import json
import pickletools
import random
import struct
import sys
import tempfile
import zipfile
from typing import Any

import torch
from torch import nn
from torch.export import Dim, export

from sdk.devtools import parse_etrecord
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo

_TEXTS = (
    *("", "x", "self", "class", "torch.os.system", "torch.ops.load_library", "math.__loader__", "_operator.attrgetter"),
    *("__import__('os').system('true')", "a=__import__('os').abort()", "'+str(__import__('os'))+'", "9**9**9**9"),
    *("Symbol('s0', integer=True)", "Pow(Integer(9), Integer(999999999))", "(" * 500, "s0", "u999999999999", "0" * 400),
    *("torch.ops.aten.from_file.default", "torch.ops.aten.add.Tensor", "torch.ops.higher_order.cond", "\n", "\u2028"),
    *("../../etc/passwd", "EDGE", "ATEN", '"""', "{x}", "__class__.forward", "cpu", "cuda:99", "AAAA"),
)
_NUMBERS = (0, 1, -1, 2, 7, 255, 2**31, 2**63 - 1, 2**63, -(2**63), 10**30, 0.5, float("inf"), float("nan"))
_CODES = (
    "builtins eval",
    "os system",
    "builtins bytearray",
    "torch Tensor",
    "torch._utils _rebuild_tensor_v2",
    "torch Size",
)


class _Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor, named: dict[str, torch.Tensor]) -> Any:
        y = self.linear(x) * x + named["key"]
        return {"a": torch.cond(y.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (y,))}


@functools.cache
def whole() -> dict[str, bytes]:
    """The members of an ETRecord with a branch, a dynamic size, a lowered module, inputs and outputs."""
    torch.manual_seed(0)
    inputs = (torch.ones(3, 2), {"key": torch.ones(2)})
    exported = export(_Model().eval(), inputs, dynamic_shapes=({0: Dim("rows", min=2, max=8)}, {"key": None}))
    manager = to_edge_transform_and_lower(exported, partitioner=[AddMulPartitionerDemo()], generate_etrecord=True)
    record = manager.to_executorch().get_etrecord()
    record.exported_program = None  # this kind of program is missing; the next lines add one of another kind
    record.export_graph_id = 1
    record.edge_dialect_program = {"forward": manager.exported_program()}
    record.update_representative_inputs([torch.ones(3, 2), torch.ones(2)])
    record.update_reference_outputs([torch.ones(3, 2)])
    buffer = io.BytesIO()
    record.save(buffer)
    with zipfile.ZipFile(buffer) as file:
        return {name: file.read(name) for name in file.namelist()}


def written(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


def hostile_record(rng: random.Random) -> bytes:
    """Returns an ETRecord with one or a few changes. No two kinds of changes fail at the same check."""
    members = dict(whole())
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        name = rng.choice([*members, *(n for n in members if n.endswith("/forward"))])
        content = members[name]
        if content[:1] in (b"{", b"[") and rng.random() < 0.9:
            members[name] = _changed_json(rng, content)
        elif content[:2] == b"PK" and rng.random() < 0.9:
            members[name] = _changed_archive(rng, content)
        else:
            members[name] = _changed_bytes(rng, content) if content else rng.randbytes(9)
    if rng.random() < 0.1:
        del members[rng.choice(list(members))]
    data = written(members, rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))
    if rng.random() < 0.15:
        data = _changed_directory(rng, data)
    return _changed_bytes(rng, data) if rng.random() < 0.1 else data


def _changed_bytes(rng: random.Random, data: bytes) -> bytes:
    found = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(found)) if found else 0
        found[at : at + rng.choice((0, 1, 1, 1, 4))] = rng.randbytes(rng.choice((0, 1, 1, 1, 4)))
    return bytes(found)


def _changed_directory(rng: random.Random, data: bytes) -> bytes:
    """A ZIP file whose directory claims other sizes than its members have."""
    found = bytearray(data)
    places = [i for i in range(len(data) - 46) if data[i : i + 4] == b"PK\x01\x02"]
    field = rng.choice((10, 16, 20, 24, 42))  # method, checksum, both sizes, offset of the data
    at = rng.choice(places) + field
    found[at : at + 4] = struct.pack("<I", rng.choice((0, 1, 8, 1 << 20, 1 << 30, (1 << 32) - 1)))
    return bytes(found)


def _places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [at]
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found += _places(item, (*at, key))
    return found


def _changed_json(rng: random.Random, content: bytes) -> bytes:
    try:
        value = json.loads(content)
        for _ in range(rng.choice((1, 1, 2))):
            if places := _places(value)[1:]:
                _change_place(rng, value, rng.choice(places))
        return json.dumps(value).encode()
    except (ValueError, RecursionError):  # an earlier change made the JSON unreadable
        return _changed_bytes(rng, content)


def _change_place(rng: random.Random, value: Any, place: tuple[Any, ...]) -> None:
    *path, last = place
    holder = value
    for key in path:
        holder = holder[key]
    holder[last] = _changed_value(rng, holder[last], value)
    if isinstance(holder, dict) and rng.random() < 0.1:
        holder[rng.choice(_TEXTS)] = holder.pop(last)


def _changed_value(rng: random.Random, value: Any, root: Any) -> Any:
    choice = rng.random()
    if isinstance(value, str) and value[:1] in ("{", "[") and choice < 0.8:  # a lowered module, a tree, metadata
        return _changed_json(rng, value.encode()).decode(errors="replace")
    if choice < 0.5:
        return rng.choice(_TEXTS) if isinstance(value, str) or rng.random() < 0.3 else rng.choice(_NUMBERS)
    if choice < 0.6:
        return [value] * rng.choice((0, 2, 200))
    if choice < 0.7:
        for _ in range(rng.choice((3, 90, 300))):
            value = rng.choice(([value], {"as_tensor": value}))
        return value
    if choice < 0.85:
        holder = root
        for key in rng.choice(_places(root)):
            holder = holder[key]
        return json.loads(json.dumps(holder))
    return rng.choice((None, True, {}, [], {"as_none": True}, {"as_expr": {"expr_str": rng.choice(_TEXTS)}}))


def _changed_archive(rng: random.Random, content: bytes) -> bytes:
    """Changes numbers, texts, functions or bytes in the instructions or the data of a file of torch.save."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            members = {name: file.read(name) for name in file.namelist()}
        steps = list(pickletools.genops(next(c for n, c in members.items() if n.endswith("data.pkl"))))
    except Exception:  # an earlier change made the file unreadable
        return _changed_bytes(rng, content)
    name = rng.choice(list(members)) if rng.random() < 0.2 else next(n for n in members if n.endswith("data.pkl"))
    if not name.endswith("data.pkl"):
        members[name] = _changed_bytes(rng, members[name])
        return written(members)
    code = bytearray(members[name])
    which = rng.randrange(len(steps) - 1)
    (step, _, start), (_, _, end) = steps[which], steps[which + 1]
    assert start is not None and end is not None
    if step.name.startswith("BININT") and rng.random() < 0.8:
        new = b"J" + struct.pack("<i", rng.choice((0, 1, -1, 1 << 20, (1 << 31) - 1)))
    elif step.name == "BINUNICODE":
        text = rng.choice(_TEXTS).encode()
        new = b"X" + struct.pack("<I", len(text)) + text
    elif step.name == "GLOBAL":
        new = b"c" + rng.choice(_CODES).replace(" ", "\n").encode() + b"\n"
    else:
        new = rng.choice(
            (b"", bytes(code[start:end]) * 2, b"N", b"]", b"}", b")", b"R", b"0", b"2", b"\x8a\x08" + b"\xff" * 8)
        )
    code[start:end] = new
    members[name] = bytes(code)
    return written(members)


_STEPS = (b"", b"N", b"]", b"}", b")", b"R", b"0", b"2", b"\x8a\x08" + b"\xff" * 8)
READ, REFUSED = "read", "refused"


def read(data: bytes) -> str:
    """Reads an ETRecord: `READ`, or `REFUSED` by the documented exception."""
    with tempfile.NamedTemporaryFile(suffix=".etrecord") as file:
        file.write(data)
        file.flush()
        try:
            record = parse_etrecord(file.name)
        except RuntimeError as error:
            assert "etrecord" in str(error).lower(), str(error)
            return REFUSED
    program = record.edge_dialect_program
    for each in program.values() if isinstance(program, dict) else [program] if program else []:
        each.module()  # makes Python source of the graph and of the conditions on its inputs, and runs it
    return READ


FORBIDDEN = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "pickle.find_class",
    "socket.",
    "os.remove",
)


def forbid() -> None:
    """From now on, the process ends with a traceback if it does something that must not happen when a file is read."""

    def look(event: str, arguments: tuple[Any, ...]) -> None:
        forbidden = event.startswith(FORBIDDEN) and not (event == "os.remove" and "etrecord" in str(arguments[0]))
        if forbidden or (event == "import" and arguments[0] in ("this", "antigravity")):
            raise SystemExit(f"reading a file led to {event} {arguments}")

    sys.addaudithook(look)
