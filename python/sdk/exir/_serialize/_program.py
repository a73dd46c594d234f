# SPDX-License-Identifier: BSD-3-Clause
"""The `.pte` container: the program's flatbuffer, an extended header and the data segments that follow.

In memory a `Program` carries its constants and delegate data inline. In a file they are segments after the flatbuffer,
so that a loader can map or free them separately. `serialize_pte_binary` moves them out and `deserialize_pte_binary`
brings them back.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, Final

from sdk.exir._serialize._cord import Cord
from sdk.exir._serialize._dataclass import _DataclassEncoder
from sdk.exir._serialize._flatbuffer import FlatbufferError
from sdk.exir._serialize._flatbuffer_program import DATA_ALIGNMENT, _flatbuffer_to_program, _program_to_flatbuffer
from sdk.exir._serialize._named_data_store import NamedDataStore, NamedDataStoreOutput
from sdk.exir._serialize._segments import HEADER_OFFSET, SegmentReader, SegmentWriter, insert_header
from sdk.exir._serialize._tensor_data import TensorBuffer
from sdk.exir._serialize.padding import aligned_size, check_power_of_two, pad_to
from sdk.exir.schema import (
    BackendDelegate,
    BackendDelegateDataReference,
    BackendDelegateInlineData,
    Buffer,
    DataLocation,
    NamedData,
    Program,
    SubsegmentOffsets,
)

_HEADER_BYTEORDER: Final = "little"


@dataclass
class PTEFile:
    """The contents of a `.pte` file. `mutable_data[0]` is a placeholder, like `program.constant_buffer[0]`."""

    program: Program
    mutable_data: list[Buffer] | None = None
    named_data: NamedDataStoreOutput | None = None


_PTEFile = PTEFile


@dataclass
class _ExtendedHeader:
    """Sizes that let a loader read the program without the segments. All numbers are little-endian."""

    EXPECTED_MAGIC: ClassVar[bytes] = b"eh00"
    # The bytes that a loader reads to find the header: the flatbuffer's header, followed by ours.
    NUM_HEAD_BYTES: ClassVar[int] = 64
    EXPECTED_LENGTH: ClassVar[int] = 32
    # Files written before `segment_data_size` was added.
    MINIMUM_LENGTH: ClassVar[int] = 24

    program_size: int
    """Bytes of the flatbuffer including this header."""
    segment_base_offset: int
    """Offset in the file of the first segment; 0 in a file without segments."""
    segment_data_size: int
    """Bytes from the first segment to the end of the last one."""
    magic: bytes = EXPECTED_MAGIC
    length: int = EXPECTED_LENGTH

    @staticmethod
    def from_bytes(data: bytes) -> _ExtendedHeader:
        """Reads a header from the start of `data`; the result may be invalid."""
        minimum = _ExtendedHeader.MINIMUM_LENGTH
        if len(data) < minimum:
            raise ValueError(
                f"an extended header needs at least {minimum} bytes, found {len(data)}; the file is truncated"
            )
        number = lambda start, end: int.from_bytes(data[start:end], _HEADER_BYTEORDER)  # noqa: E731
        length = number(4, 8)
        has_data_size = length >= _ExtendedHeader.EXPECTED_LENGTH and len(data) >= _ExtendedHeader.EXPECTED_LENGTH
        return _ExtendedHeader(
            magic=bytes(data[:4]),
            length=length,
            program_size=number(8, 16),
            segment_base_offset=number(16, 24),
            segment_data_size=number(24, 32) if has_data_size else 0,
        )

    def is_valid(self) -> bool:
        return self.magic == self.EXPECTED_MAGIC and self.length >= self.MINIMUM_LENGTH

    def to_bytes(self) -> bytes:
        if not self.is_valid():
            raise ValueError(f"cannot write the invalid header {self}")
        sizes = (self.program_size, self.segment_base_offset, self.segment_data_size)
        length = self.length.to_bytes(4, _HEADER_BYTEORDER)
        return self.magic + length + b"".join(size.to_bytes(8, _HEADER_BYTEORDER) for size in sizes)


def _get_extended_header(program_data: bytes) -> _ExtendedHeader | None:
    """The extended header of a file; None for a file without one."""
    data = program_data[HEADER_OFFSET : HEADER_OFFSET + _ExtendedHeader.EXPECTED_LENGTH]
    if len(data) < _ExtendedHeader.MINIMUM_LENGTH:
        return None
    header = _ExtendedHeader.from_bytes(data)
    return header if header.is_valid() else None


def _program_to_json(program: Program) -> str:
    """The program as JSON with the field names of the schema; bytes become lists of numbers."""
    return json.dumps(program, cls=_DataclassEncoder)


def _pack(buffers: Sequence[Buffer], alignment: int) -> tuple[Cord, list[int]]:
    """The buffers in one segment, each at a multiple of `alignment`, and their offsets."""
    data, offsets = Cord(), []
    for buffer in buffers:
        content = buffer.data if isinstance(buffer, TensorBuffer) else buffer.storage
        if len(content):
            data.pad_to(aligned_size(len(data), alignment))
        offsets.append(len(data))
        data.append(content)
    return data, offsets


def _extract_delegates(program: Program, segments: SegmentWriter) -> Program:
    """The program with its inline delegate data moved to segments; equal data is stored once, and empty data stays
    inline, because a segment has at least one byte."""
    segment_of: dict[bytes, int] = {}
    kept: list[BackendDelegateInlineData] = []
    used: set[int] = set()

    def move(plan_name: str, delegate: BackendDelegate) -> BackendDelegate:
        if delegate.processed.location != DataLocation.INLINE:
            raise ValueError(f"the data of delegate {delegate.id!r} in method {plan_name!r} is already in a segment")
        index = delegate.processed.index
        if index >= len(program.backend_delegate_data):
            raise ValueError(
                f"delegate {delegate.id!r} in method {plan_name!r} refers to delegate data {index}, "
                f"but the program has {len(program.backend_delegate_data)}"
            )
        used.add(index)
        data = program.backend_delegate_data[index].data
        if not data:
            kept[:] = [BackendDelegateInlineData(b"")]
            return replace(delegate, processed=BackendDelegateDataReference(DataLocation.INLINE, 0))
        if data not in segment_of:
            segment_of[data] = segments.add(data)
        return replace(delegate, processed=BackendDelegateDataReference(DataLocation.SEGMENT, segment_of[data]))

    plans = [
        replace(plan, delegates=[move(plan.name, delegate) for delegate in plan.delegates])
        for plan in program.execution_plan
    ]
    unused = [index for index in range(len(program.backend_delegate_data)) if index not in used]
    if unused:
        raise ValueError(
            f"no delegate refers to delegate data {', '.join(map(str, unused))}, which the file would lose: remove the "
            "data from Program.backend_delegate_data, or refer to it"
        )
    return replace(program, execution_plan=plans, backend_delegate_data=kept)


def _extract_named_data(named_data: NamedDataStoreOutput, segments: SegmentWriter) -> list[NamedData]:
    """Stores the buffers that keys of the program refer to, each once and aligned for all of its keys."""
    alignment_of: dict[int, int] = {}
    for entry in named_data.pte_data.values():
        alignment_of[entry.buffer_index] = math.lcm(alignment_of.get(entry.buffer_index, 1), entry.alignment)
    segment_of = {index: segments.add(named_data.buffers[index], align) for index, align in alignment_of.items()}
    return [NamedData(key, segment_of[entry.buffer_index]) for key, entry in named_data.pte_data.items()]


def serialize_pte_binary(
    pte_file: PTEFile,
    *,
    extract_delegate_segments: bool = False,
    segment_alignment: int = 128,
    constant_tensor_alignment: int | None = None,
    delegate_alignment: int | None = None,
) -> Cord:
    """The bytes of a `.pte` file. `pte_file` is not changed and its large buffers are not copied.

    Alignments are in bytes and powers of two: `segment_alignment` of each segment in the file,
    `constant_tensor_alignment` of each constant in its segment (default 16), `delegate_alignment` of inline delegate
    data (default 16).
    `extract_delegate_segments` moves delegate data out of the flatbuffer, so that a backend can free or map it.
    """
    check_power_of_two("segment_alignment", segment_alignment)
    constant_alignment = check_power_of_two("constant_tensor_alignment", constant_tensor_alignment or DATA_ALIGNMENT)
    program = pte_file.program
    for name in ("segments", "named_data", "mutable_data_segments"):
        if getattr(program, name):
            raise ValueError(f"Program.{name} is not empty; segments are made when the program is serialised")

    segments = SegmentWriter(segment_alignment)
    constant_segment = program.constant_segment
    if program.constant_buffer:
        data, offsets = _pack(program.constant_buffer, constant_alignment)
        constant_segment = SubsegmentOffsets(segments.add(data), offsets)
    mutable_segments = None
    if pte_file.mutable_data is not None:
        # Initial values are copied to planned memory, so they need no alignment.
        data, offsets = _pack(pte_file.mutable_data, 1)
        if len(data):
            mutable_segments = [SubsegmentOffsets(segments.add(data), offsets)]
    if extract_delegate_segments:
        program = _extract_delegates(program, segments)
    named_data = _extract_named_data(pte_file.named_data, segments) if pte_file.named_data else []

    program = replace(
        program,
        constant_buffer=[],
        constant_segment=constant_segment,
        mutable_data_segments=mutable_segments,
        segments=segments.segments,
        named_data=named_data,
    )
    flatbuffer = _program_to_flatbuffer(
        program, constant_tensor_alignment=constant_tensor_alignment, delegate_alignment=delegate_alignment
    )
    if not len(segments.data):
        return Cord(flatbuffer.data)

    header_size = aligned_size(_ExtendedHeader.EXPECTED_LENGTH, flatbuffer.max_alignment)
    program_size = flatbuffer.size + header_size
    header = _ExtendedHeader(program_size, aligned_size(program_size, segment_alignment), len(segments.data))
    file = insert_header(flatbuffer, pad_to(header.to_bytes(), header_size))
    file.pad_to(header.segment_base_offset)
    file.append(segments.data)
    return file


def _unpack(segments: SegmentReader, subsegments: SubsegmentOffsets, what: str) -> list[Buffer]:
    """The buffers of a segment that `_pack` made. Padding between them belongs to the buffer before it."""
    placeholder = Buffer(b"")
    if len(subsegments.offsets) < 2:
        return [placeholder]
    segment = segments[subsegments.segment_index]
    # The first entry is a placeholder at offset 0 without data.
    pieces = list(pairwise([*subsegments.offsets[1:], len(segment)]))
    if any(start > end for start, end in pieces):
        raise FlatbufferError(
            f"the offsets of the {what} do not ascend within its {len(segment)} bytes; the file is damaged"
        )
    return [placeholder, *(Buffer(bytes(segment[start:end])) for start, end in pieces)]


def _restore_delegates(program: Program, segments: SegmentReader) -> None:
    inline_of: dict[int, int] = {}
    for plan in program.execution_plan:
        for delegate in plan.delegates:
            if delegate.processed is None:
                raise FlatbufferError(f"delegate {delegate.id!r} does not say where its data is; the file is damaged")
            index = delegate.processed.index
            if delegate.processed.location == DataLocation.INLINE:
                if index >= len(program.backend_delegate_data):
                    raise FlatbufferError(
                        f"delegate {delegate.id!r} refers to missing data {index}; the file is damaged"
                    )
                continue
            if index not in inline_of:
                inline_of[index] = len(program.backend_delegate_data)
                program.backend_delegate_data.append(BackendDelegateInlineData(bytes(segments[index])))
            delegate.processed = BackendDelegateDataReference(DataLocation.INLINE, inline_of[index])


def deserialize_pte_binary(program_data: bytes) -> PTEFile:
    """The content of a `.pte` file, with all data of its segments inline again.

    Raises `FlatbufferError` (a `ValueError`) for bytes that are not a valid file.
    """
    data = memoryview(program_data).cast("B")
    header = _get_extended_header(program_data)
    program_size = header.program_size if header else len(data)
    if program_size > len(data):
        raise FlatbufferError(
            f"the program needs {program_size} bytes but the file has {len(data)}; the file is truncated"
        )
    program: Program = _flatbuffer_to_program(data[:program_size])
    segments = SegmentReader(program.segments or [], data, header.segment_base_offset if header else program_size)

    constants = program.constant_segment
    # Older files keep their constants inline and have no offsets.
    if constants is not None and constants.offsets:
        if program.constant_buffer:
            raise FlatbufferError("constants are both inline and in a segment; the file is damaged")
        program.constant_buffer = _unpack(segments, constants, "constant segment")
    mutable_data = None
    if program.mutable_data_segments:
        if len(program.mutable_data_segments) > 1:
            raise FlatbufferError(f"expected one mutable data segment, found {len(program.mutable_data_segments)}")
        mutable_data = _unpack(segments, program.mutable_data_segments[0], "mutable data segment")
    _restore_delegates(program, segments)
    named_data = None
    if program.named_data:
        store = NamedDataStore()
        for entry in program.named_data:
            store.add_named_data(entry.key, bytes(segments[entry.segment_index]))
        named_data = store.get_named_data_store_output()

    program.segments = []
    program.constant_segment = SubsegmentOffsets(segment_index=0, offsets=[])
    program.mutable_data_segments = None
    program.named_data = []
    return PTEFile(program=program, mutable_data=mutable_data, named_data=named_data)


def _extract_delegate_payload(pte_data: bytes, backend_id: str, delegate_index: int = 0) -> bytes | None:
    """The compiled data of the `delegate_index`-th delegate of a backend over all methods; None if there are fewer."""
    program = deserialize_pte_binary(pte_data).program
    found = [delegate for plan in program.execution_plan for delegate in plan.delegates if delegate.id == backend_id]
    if delegate_index >= len(found):
        return None
    return program.backend_delegate_data[found[delegate_index].processed.index].data
