# SPDX-License-Identifier: BSD-3-Clause
"""Bytes of `.pte` and `.ptd` files, read according to the documents of the formats and of flatbuffers only."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from sdk.exir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge
from sdk.exir._serialize._cord import Cord
from sdk.exir._serialize._flatbuffer_program import _flatbuffer_to_program
from sdk.exir._serialize._named_data_store import NamedDataStore
from sdk.exir._serialize._program import _ExtendedHeader
from sdk.exir._serialize.data_serializer import DataEntry, DataPayload
from sdk.extension.flat_tensor.serialize.serialize import (
    FlatTensorConfig,
    FlatTensorHeader,
    FlatTensorSerializer,
    _deserialize_to_flat_tensor,
)
from sdk.runtime import Runtime

ROOT = Path(__file__).resolve().parents[3]
CPP = ROOT / "sdk/cpp/executorch"


class AddMul(nn.Module):
    """The model of the example in the documents: two tensors of 16 bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Parameter(torch.full((2, 2), 3.0)), nn.Parameter(torch.full((2, 2), 2.0))

    def forward(self, x: Tensor) -> Tensor:
        return self.a @ x + self.b


X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def lower(**config: object) -> ExecutorchProgramManager:
    return to_edge(torch.export.export(AddMul(), (X,))).to_executorch(ExecutorchBackendConfig(**config))


@pytest.fixture(scope="module")
def pte() -> bytes:
    return lower(segment_alignment=4096).buffer


@pytest.fixture(scope="module")
def ptd() -> bytes:
    (data,) = lower(external_constants=True)._tensor_data.values()
    return bytes(data)


def u32(data: bytes, at: int) -> int:
    return struct.unpack_from("<I", data, at)[0]


def u64(data: bytes, at: int) -> int:
    return struct.unpack_from("<Q", data, at)[0]


def field(data: bytes, table: int, number: int) -> int | None:
    """Returns the position of a field of a table, found like in any reader of flatbuffers; None if it is absent."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    entry = 4 + 2 * number
    if entry >= struct.unpack_from("<H", data, vtable)[0]:
        return None
    offset = struct.unpack_from("<H", data, vtable + entry)[0]
    return table + offset if offset else None


def vector(data: bytes, table: int, number: int) -> list[int]:
    """The positions of the tables in a vector of tables."""
    at = field(data, table, number)
    if at is None:
        return []
    at += u32(data, at)
    return [p + u32(data, p) for p in range(at + 4, at + 4 + 4 * u32(data, at), 4)]


def text(data: bytes, at: int) -> str:
    at += u32(data, at)
    return data[at + 4 : at + 4 + u32(data, at)].decode()


def segments(data: bytes, table: int, number: int) -> list[tuple[int, int]]:
    """(offset, size) of each DataSegment, relative to the first one. A number that is 0 is not stored."""
    places = [[field(data, s, i) for i in range(2)] for s in vector(data, table, number)]
    return [tuple(u64(data, at) if at is not None else 0 for at in place) for place in places]  # type: ignore[misc]


def test_head_of_a_program(pte: bytes) -> None:
    """PTE-02 PTE-03 PTE-04 PTE-05 PTE-06: root offset, "ET12", "eh00" and 32, little-endian."""
    assert 40 <= u32(pte, 0) < len(pte)
    assert pte[4:8] == b"ET12"
    assert pte[8:12] == b"eh00"
    assert pte[12:16] == b"\x20\0\0\0"


def test_sizes_in_a_programs_header(pte: bytes) -> None:
    """PTE-01 PTE-07 PTE-08 PTE-09 PTE-15: header, tables, zeros up to a page, segments; nothing after them."""
    program_size, base, data_size = u64(pte, 16), u64(pte, 24), u64(pte, 32)
    assert base == 4096
    assert program_size <= base
    assert not any(pte[program_size:base])
    assert data_size == 32  # two constants of 16 bytes each, without padding after the last
    assert base + data_size == len(pte)


def test_the_header_is_padded_for_what_follows_it() -> None:
    """PTE-10: data inside the tables stays at multiples of 1024 bytes, because 1024 bytes are inserted before."""
    data = lower(delegate_alignment=1024).buffer
    assert data[8:12] == b"eh00"
    assert not any(data[40 : 8 + 1024])
    assert u32(data, 0) > 8 + 1024


def test_the_documents_header_of_a_program() -> None:
    """PTE-02 PTE-05 PTE-06 PTE-07 PTE-08 PTE-09: the numbers of the document's example give its bytes."""
    header = _ExtendedHeader(program_size=0x2F0, segment_base_offset=0x1000, segment_data_size=0x20)
    dump = "65 68 30 30 20 00 00 00 F0 02 00 00 00 00 00 00 00 10 00 00 00 00 00 00 20 00 00 00 00 00 00 00"
    assert header.to_bytes() == bytes.fromhex(dump)
    larger = bytes.fromhex(dump.replace("20", "28", 1)) + bytes(8)
    assert _ExtendedHeader.from_bytes(larger).is_valid()


def test_segments_of_a_program(pte: bytes) -> None:
    """PTE-12 PTE-13 PTE-16: generic flatbuffer code finds the segments by the schema, and in them the constants."""
    root = u32(pte, 0)
    # program.fbs: version, execution_plan, constant_buffer, backend_delegate_data, segments, constant_segment, ...
    assert [text(pte, field(pte, plan, 0)) for plan in vector(pte, root, 1)] == ["forward"]
    ((offset, size),) = segments(pte, root, 4)
    data = pte[u64(pte, 24) + offset :][:size]
    model = AddMul()
    assert {data[:16], data[16:]} == {t.detach().numpy().tobytes() for t in (model.a, model.b)}
    assert "table Program" in (CPP / "schema/program.fbs").read_text()


def test_a_program_without_segments_has_no_header() -> None:
    """PTE-08 PTE-11: there is nothing to find after the tables, so there is no header. The program still loads."""

    class Double(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + x

    data = to_edge(torch.export.export(Double(), (X,))).to_executorch().buffer
    assert data[4:8] == b"ET12"
    assert data[8:10] != b"eh"
    method = Runtime.get().load_program(data).load_method("forward")
    torch.testing.assert_close(method.execute([X])[0], X + X)


def test_a_program_is_read_without_its_segments(pte: bytes) -> None:
    """PTE-14: the first `program_size` bytes are all that the tables need."""
    program = _flatbuffer_to_program(pte[: u64(pte, 16)])
    assert program.execution_plan[0].name == "forward"
    assert [(s.offset, s.size) for s in program.segments] == [(0, 32)]


@pytest.mark.parametrize("alignment", [16, 64, 1024])
def test_constants_are_aligned_as_asked(alignment: int) -> None:
    """PTE-18: constants are aligned in the file, so that a mapped file can be used in place."""
    data = lower(segment_alignment=4096, constant_tensor_alignment=alignment).buffer
    model = AddMul()
    for tensor in (model.a, model.b):
        assert data.index(tensor.detach().numpy().tobytes()) % alignment == 0
    torch.testing.assert_close(Runtime.get().load_program(data).load_method("forward").execute([X])[0], model(X))


def test_the_compatibility_policy_is_written_down() -> None:
    """PTE-17."""
    page = (CPP / "runtime/COMPATIBILITY.md").read_text()
    assert "ET12" in page
    assert "FT01" in page


def test_head_of_a_tensor_file(ptd: bytes) -> None:
    """PTD-01 PTD-03 PTD-04 PTD-05 PTD-06 PTD-07 PTD-08 PTD-09 PTD-10 PTD-11, all numbers little-endian."""
    assert ptd[4:16] == b"FT01FH01\x28\0\0\0"
    offset, size, base, data_size = (u64(ptd, at) for at in range(16, 48, 8))
    assert offset == 0x30
    assert offset <= u32(ptd, 0) < offset + size
    assert offset + size <= base
    assert not any(ptd[offset + size : base])
    assert base % 128 == 0
    assert base + data_size == len(ptd)


def test_the_documents_header_of_a_tensor_file() -> None:
    """PTD-13: the numbers of the document's example give its bytes, and a file of the same content has its layout.

    The tables of the example take 0x100 bytes as `flatc` places them; ours need fewer, so only the two numbers that
    depend on it differ.
    """
    dump = "46483031 28000000 30000000 00000000 00010000 00000000 30010000 00000000 20000000 00000000"
    example = FlatTensorHeader(0x30, 0x100, 0x130, 0x20)
    assert example.to_bytes() == bytes.fromhex(dump)
    assert FlatTensorHeader.from_bytes(bytes.fromhex(dump)) == example

    (data,) = lower(external_constants=True)._tensor_data.values()
    payload = FlatTensorSerializer().deserialize(data)
    file = bytes(FlatTensorSerializer(FlatTensorConfig(segment_alignment=16)).serialize(payload))
    header = FlatTensorHeader.from_bytes(file[8:48])
    assert (header.flatbuffer_offset, header.segment_data_size) == (0x30, 0x20)
    assert header.segment_base_offset == 0x30 + header.flatbuffer_size
    assert header.flatbuffer_size <= 0x100


def test_tables_of_a_tensor_file(ptd: bytes) -> None:
    """PTD-12 PTD-14 PTD-15 PTD-16 PTD-17: generic flatbuffer code finds keys, layouts and segments by the schema."""
    root = u32(ptd, 0)
    model = AddMul()
    # flat_tensor.fbs: version, segments, named_data; NamedData: key, segment_index, tensor_layout.
    places = segments(ptd, root, 1)
    entries = vector(ptd, root, 2)
    assert [text(ptd, field(ptd, entry, 0)) for entry in entries] == ["a", "b"]
    for entry, tensor in zip(entries, (model.a, model.b), strict=True):
        index = field(ptd, entry, 1)
        offset, size = places[u32(ptd, index) if index is not None else 0]
        assert ptd[u64(ptd, 32) + offset :][:size] == tensor.detach().numpy().tobytes()
        layout = field(ptd, entry, 2)
        layout += u32(ptd, layout)
        scalar_type, sizes, order = (field(ptd, layout, i) for i in range(3))
        assert ptd[scalar_type] == 6  # FLOAT
        sizes += u32(ptd, sizes)
        assert struct.unpack_from("<Iii", ptd, sizes) == (2, 2, 2)
        order += u32(ptd, order)
        assert ptd[order : order + 6] == b"\x02\0\0\0\0\x01"
    assert "table FlatTensor" in (CPP / "schema/flat_tensor.fbs").read_text()


def test_layouts_are_read_without_the_data(ptd: bytes) -> None:
    """PTD-19: the bytes before the segments have the layouts."""
    tables = _deserialize_to_flat_tensor(ptd[: u64(ptd, 16) + u64(ptd, 24)])
    assert {entry.key: entry.tensor_layout.sizes for entry in tables.named_data} == {"a": [2, 2], "b": [2, 2]}


def test_tensors_and_blobs_in_one_file() -> None:
    """PTD-02 PTD-18: an entry with a layout, one without, and two keys for one segment."""
    store = NamedDataStore()
    store.add_named_data("weight", torch.ones(3), external_tag="file")
    store.add_named_data("packed", b"opaque", external_tag="file")
    store.add_named_data("again", b"opaque", external_tag="file")
    output = store.get_named_data_store_output()
    file = FlatTensorSerializer().serialize(DataPayload(output.buffers, output.external_data["file"]))
    back = FlatTensorSerializer().deserialize(Cord(bytes(file)))
    assert back.named_data["weight"].tensor_layout.sizes == [3]
    assert back.named_data["packed"] == back.named_data["again"] == DataEntry(1, 1, None)
    assert len(back.buffers) == 2


def test_segments_of_tensor_files_are_aligned_as_asked() -> None:
    """PTE-15: `segment_alignment` applies to both files."""
    (data,) = lower(external_constants=True, segment_alignment=4096)._tensor_data.values()
    file = bytes(data)
    assert u64(file, 32) == 4096
    assert all(offset % 4096 == 0 for offset, _ in segments(file, u32(file, 0), 1))
