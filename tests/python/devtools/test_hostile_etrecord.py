# SPDX-License-Identifier: BSD-3-Clause
"""ETRecords that somebody has changed: each is read, or refused by the documented exception; nothing in it runs, and
memory stays within a bound."""

from __future__ import annotations

import json
import os
import struct
import zipfile
import zlib
from pathlib import Path

import pytest
from etrecord_mutations import READ, whole, written
from etrecord_mutations import read as outcome

import forked
from sdk import exir
from sdk.devtools import parse_etrecord
from sdk.exir.error import ExportError

MEMORY = 256 << 20
_TESTS = Path(__file__).parents[2]
_FILES = """
import collections, random, sys, warnings, zipfile
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/python/devtools"]
warnings.simplefilter("ignore")
import etrecord_mutations
from bench.worker import Clock
from etrecord_mutations import forbid, hostile_record, read, written

with zipfile.ZipFile(sys.argv[3]) as file:
    members = {name: file.read(name) for name in file.namelist()}
etrecord_mutations.whole = lambda: members  # an export takes seconds
assert read(written(members)) == "read"
forbid()
with Clock() as clock:
    results = collections.Counter(read(hostile_record(random.Random(seed))) for seed in range(int(sys.argv[2])))
print(results["read"], results["refused"], clock.peak)
"""


def test_the_record_that_is_changed_is_whole() -> None:
    assert outcome(written(whole())) == outcome(written(whole(), zipfile.ZIP_DEFLATED)) == READ


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak of memory from /proc")
def test_changed_records_are_read_or_refused(tmp_path: Path) -> None:
    """`tests/fuzz/fuzz_etrecord.py` does the same for longer."""
    path = tmp_path / "whole.etrecord"
    path.write_bytes(written(whole()))
    run = forked.run("-c", _FILES, _TESTS, 150, path, check=True)
    read, refused, taken = map(int, run.stdout.split())
    assert read > 5 and refused > 50, "the changes are of both kinds"
    assert taken < MEMORY


def _zeros(size: int) -> bytes:
    """Returns `size` zeros in deflated form. Only 1 MiB is compressed and then repeated, because compressing all would
    take seconds."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    part = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return part * (size >> 20) + packer.flush()


def _packed(packed: bytes, claimed: int, checksum: int) -> bytes:
    """A ZIP file whose directory claims that its one member, `packed`, unpacks to `claimed` bytes."""
    name = b"exported_program"
    sizes = struct.pack("<III", checksum, len(packed), claimed)
    local = b"PK\x03\x04" + struct.pack("<HHHHH", 20, 0, 8, 0, 0x21) + sizes + struct.pack("<HH", len(name), 0) + name
    data = local + packed
    entry = (
        b"PK\x01\x02" + struct.pack("<HHHHHH", 20, 20, 0, 8, 0, 0x21) + sizes
        + struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, 0) + name
    )  # fmt: skip
    return data + entry + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry), len(data), 0)


@pytest.mark.parametrize("calls", [0, 1], ids=["none", "of another module"])
def test_a_program_without_its_own_call(tmp_path: Path, calls: int) -> None:
    """torch treats the first call of a module as that of the program, even if `module()` is called later."""
    name = next(name for name in whole() if name.endswith("/forward"))
    program = json.loads(whole()[name])
    graph = program["graph_module"]
    graph["module_call_graph"] = [{**graph["module_call_graph"][0], "fqn": "linear"}][:calls]
    path = tmp_path / "changed.etrecord"
    path.write_bytes(written({**whole(), name: json.dumps(program).encode()}))
    with pytest.raises(RuntimeError, match="its first call of a module is not the call of the whole program"):
        parse_etrecord(path)


_BOMB = """
import sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[1])
from bench.worker import Clock
from sdk.devtools import parse_etrecord

with Clock() as clock:
    try:
        parse_etrecord(sys.argv[2])
    except RuntimeError as error:
        print(error)
print(clock.peak)
"""


@pytest.mark.parametrize("claimed", [10, 1 << 20, 1 << 29])
def test_a_directory_that_lies_about_sizes(tmp_path: Path, claimed: int) -> None:
    path = tmp_path / "bomb.etrecord"
    path.write_bytes(_packed(_zeros(1 << 29), claimed, zlib.crc32(bytes(min(claimed, 1 << 20)))))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(RuntimeError, match=r"unpacks to 536870912|Bad CRC-32|ETRecord identifier missing"):
        parse_etrecord(path)
    if Path("/proc/self/status").exists():
        run = forked.run("-c", _BOMB, _TESTS, path, check=True)
        assert int(run.stdout.splitlines()[-1]) < 64 << 20


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_refused(tmp_path: Path) -> None:
    """Opening a pipe would wait for its writer."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(RuntimeError, match="found a device or a pipe"):
        parse_etrecord(pipe)
    with pytest.raises(ExportError, match="found a device or a pipe"):
        exir.load(pipe)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_unpack_without_a_bound(tmp_path: Path, method: int) -> None:
    path = tmp_path / "packed.etrecord"
    path.write_bytes(written(whole(), method))
    with pytest.raises(RuntimeError, match="packed by method"):
        parse_etrecord(path)


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("debug_handle_map", b"[]", "is not a map of methods and instructions"),
        ("debug_handle_map", b'{"forward": {"1": "x"}}', "has 'x' for the instruction '1'"),
        ("debug_handle_map", b'{"forward": {"x": 1}}', "has 1 for the instruction 'x'"),
        ("debug_handle_map", b"[" * 100_000, "is not JSON"),
        ("delegate_map", b'{"forward": {"1": {"name": 1}}}', "has {'name': 1} for the instruction '1'"),
        ("instruction_id_to_num_outs_map", b'{"forward": {"1": null}}', "has None for the instruction '1'"),
        ("export_graph_id", b'"1"', "is not a number"),
        ("reference_outputs", b"PK", "'reference_outputs' cannot be read"),
    ],
)
def test_maps_of_other_types(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / "changed.etrecord"
    path.write_bytes(written({**whole(), name: content}))
    with pytest.raises(RuntimeError, match=message):
        parse_etrecord(path)
