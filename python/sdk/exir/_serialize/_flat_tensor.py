# SPDX-License-Identifier: BSD-3-Clause
"""The `.ptd` container: a FlatTensor flatbuffer with a header, then the data segments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Final

from sdk.exir._serialize._cord import Cord
from sdk.exir._serialize._flat_tensor_schema import DataSegment, FlatTensor, NamedData
from sdk.exir._serialize._flatbuffer import (
    INT,
    STRING,
    UBYTE,
    UINT,
    ULONG,
    Enum,
    FlatbufferError,
    Table,
    Vector,
    read_root,
    write_root,
)
from sdk.exir._serialize._named_data_store import NamedDataStoreOutput
from sdk.exir._serialize._segments import HEADER_OFFSET, SegmentReader, SegmentWriter, insert_header
from sdk.exir._serialize.data_serializer import DataEntry, DataPayload, DataSerializer
from sdk.exir._serialize.padding import aligned_size, check_power_of_two, pad_to
from sdk.exir.scalar_type import ScalarType
from sdk.exir.tensor_layout import TensorLayout

_HEADER_BYTEORDER: Final = "little"
_FLATBUFFER_ALIGNMENT = 16
_FLAT_TENSOR_IDENTIFIER = b"FT01"
_FLAT_TENSOR_VERSION = 0

_FLAT_TENSOR = Table(
    FlatTensor,
    version=UINT,
    segments=Vector(Table(DataSegment, offset=ULONG, size=ULONG)),
    named_data=Vector(
        Table(
            NamedData,
            key=STRING,
            segment_index=UINT,
            tensor_layout=Table(TensorLayout, scalar_type=Enum(ScalarType), sizes=Vector(INT), dim_order=Vector(UBYTE)),
        )
    ),
)


@dataclass
class FlatTensorConfig:
    segment_alignment: int = 128
    """Bytes; a power of two. Every segment starts at a multiple of it in the file."""


@dataclass
class FlatTensorHeader:
    """Sizes that let a loader read the keys without the data. All numbers are little-endian."""

    EXPECTED_MAGIC: ClassVar[bytes] = b"FH01"
    EXPECTED_LENGTH: ClassVar[int] = 40

    flatbuffer_offset: int
    """Bytes that the header, with its padding, adds to the flatbuffer."""
    flatbuffer_size: int
    """Bytes of the flatbuffer without the header."""
    segment_base_offset: int
    """Offset in the file of the first segment."""
    segment_data_size: int
    """Bytes from the first segment to the end of the last one."""
    magic: bytes = EXPECTED_MAGIC
    length: int = EXPECTED_LENGTH

    @staticmethod
    def from_bytes(data: bytes) -> FlatTensorHeader:
        """Reads a header from the start of `data`; the result may be invalid."""
        expected = FlatTensorHeader.EXPECTED_LENGTH
        if len(data) < expected:
            raise FlatbufferError(f"a .ptd header needs {expected} bytes, found {len(data)}; the file is truncated")
        offset, size, base, data_size = (
            int.from_bytes(data[at : at + 8], _HEADER_BYTEORDER) for at in range(8, expected, 8)
        )
        length = int.from_bytes(data[4:8], _HEADER_BYTEORDER)
        return FlatTensorHeader(offset, size, base, data_size, bytes(data[:4]), length)

    def is_valid(self) -> bool:
        return self.magic == self.EXPECTED_MAGIC and self.length >= self.EXPECTED_LENGTH

    def to_bytes(self) -> bytes:
        if not self.is_valid():
            raise ValueError(f"cannot write the invalid header {self}")
        numbers = (self.flatbuffer_offset, self.flatbuffer_size, self.segment_base_offset, self.segment_data_size)
        length = self.length.to_bytes(4, _HEADER_BYTEORDER)
        return self.magic + length + b"".join(number.to_bytes(8, _HEADER_BYTEORDER) for number in numbers)


def _deserialize_to_flat_tensor(flatbuffer: bytes | memoryview) -> FlatTensor:
    """The tables of a `.ptd` file. Raises `FlatbufferError` for anything that is not valid."""
    return read_root(_FLAT_TENSOR, flatbuffer, _FLAT_TENSOR_IDENTIFIER, newest=0)


def _get_extended_header(flat_tensor_data: bytes) -> FlatTensorHeader | None:
    """The header of a `.ptd` file; None if it has no header."""
    data = flat_tensor_data[HEADER_OFFSET : HEADER_OFFSET + FlatTensorHeader.EXPECTED_LENGTH]
    if len(data) < FlatTensorHeader.EXPECTED_LENGTH:
        return None
    header = FlatTensorHeader.from_bytes(data)
    return header if header.is_valid() else None


class FlatTensorSerializer(DataSerializer):
    """Writes and reads `.ptd` files. Buffers that no key refers to are not written; shared ones are written once."""

    def __init__(self, config: FlatTensorConfig | None = None) -> None:
        self.config = config or FlatTensorConfig()
        check_power_of_two("segment_alignment", self.config.segment_alignment)

    def serialize(self, data: DataPayload) -> Cord:
        alignment_of: dict[int, int] = {}
        for entry in data.named_data.values():
            own = entry.alignment or 1  # the original reads and writes 0 as "no layout"
            alignment_of[entry.buffer_index] = math.lcm(alignment_of.get(entry.buffer_index, 1), own)
        segments = SegmentWriter(self.config.segment_alignment)
        segment_of = {index: segments.add(data.buffers[index], align) for index, align in alignment_of.items()}
        named_data = [
            NamedData(key, segment_of[entry.buffer_index], entry.tensor_layout)
            for key, entry in data.named_data.items()
        ]
        flat_tensor = FlatTensor(_FLAT_TENSOR_VERSION, segments.segments, named_data)
        flatbuffer = write_root(_FLAT_TENSOR, flat_tensor, _FLAT_TENSOR_IDENTIFIER, _FLATBUFFER_ALIGNMENT)

        header_size = aligned_size(FlatTensorHeader.EXPECTED_LENGTH, flatbuffer.max_alignment)
        base = aligned_size(header_size + flatbuffer.size, self.config.segment_alignment)
        header = FlatTensorHeader(header_size, flatbuffer.size, base, len(segments.data))
        file = insert_header(flatbuffer, pad_to(header.to_bytes(), header_size))
        file.pad_to(base)
        file.append(segments.data)
        return file

    def deserialize(self, blob: Cord) -> DataPayload:
        """The data of a file. Alignments are not stored, so every entry has the alignment 1."""
        raw = bytes(blob)
        data = memoryview(raw)
        header = _get_extended_header(raw)
        if header is None:
            raise FlatbufferError(
                f"expected a .ptd file with the header {FlatTensorHeader.EXPECTED_MAGIC!r} at byte {HEADER_OFFSET}, "
                f"found {raw[HEADER_OFFSET : HEADER_OFFSET + 4]!r} in {len(raw)} bytes; the file is truncated or of "
                "another format"
            )
        end = header.flatbuffer_offset + header.flatbuffer_size
        if end > len(raw):
            raise FlatbufferError(f"the tables need {end} bytes but the file has {len(raw)}; the file is truncated")
        flat_tensor = _deserialize_to_flat_tensor(data[:end])
        segments = SegmentReader(flat_tensor.segments, data, header.segment_base_offset)
        named_data: dict[str, DataEntry] = {}
        for entry in flat_tensor.named_data:
            if entry.key in named_data:
                raise FlatbufferError(f"the key {entry.key!r} occurs twice; the file is damaged")
            if not 0 <= entry.segment_index < len(segments):
                raise FlatbufferError(f"the key {entry.key!r} refers to a missing segment; the file is damaged")
            named_data[entry.key] = DataEntry(entry.segment_index, 1, entry.tensor_layout)
        return DataPayload([bytes(segments[index]) for index in range(len(segments))], named_data)

    def deserialize_to_named_data_store_output(self, blob: bytes, name: str) -> NamedDataStoreOutput:
        """The data of a file, as data of the external file `name`."""
        payload = self.deserialize(Cord(blob))
        return NamedDataStoreOutput(list(payload.buffers), {}, {name: payload.named_data})
