# SPDX-License-Identifier: BSD-3-Clause
"""Data segments after a flatbuffer, as in `.pte` and `.ptd` files: writing and reading them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from sdk.exir._serialize._cord import Cord
from sdk.exir._serialize._flatbuffer import FlatbufferError, FlatbufferResult
from sdk.exir._serialize._tensor_data import Data
from sdk.exir._serialize.padding import aligned_size
from sdk.exir.schema import DataSegment

HEADER_OFFSET = 8
"""Where a header is inserted into a flatbuffer: after the root offset and the file identifier."""


@dataclass
class SegmentWriter:
    """Lays segments out in sequence, each at a multiple of its alignment."""

    alignment: int
    data: Cord = field(default_factory=Cord)
    segments: list[DataSegment] = field(default_factory=list)

    def add(self, data: Data | Cord, alignment: int = 1) -> int:
        """Appends a segment that starts at a multiple of `alignment` and of the file's alignment; returns its index."""
        if len(data):
            self.data.pad_to(aligned_size(len(self.data), math.lcm(self.alignment, alignment)))
        self.segments.append(DataSegment(offset=len(self.data), size=len(data)))
        self.data.append(data)
        return len(self.segments) - 1


class SegmentReader:
    """The segments of a file, checked against its size. `base` is where in the file their offsets start."""

    def __init__(self, segments: list[DataSegment], data: memoryview, base: int) -> None:
        self._segments = segments
        self._data = data
        self._base = base

    def __len__(self) -> int:
        return len(self._segments)

    def __getitem__(self, index: int) -> memoryview:
        if not 0 <= index < len(self):
            raise FlatbufferError(f"segment {index} is referred to but there are {len(self)}; the file is damaged")
        segment = self._segments[index]
        start = self._base + segment.offset
        if segment.size and start + segment.size > len(self._data):
            raise FlatbufferError(
                f"segment {index} needs bytes {start} to {start + segment.size} but the file has {len(self._data)}; "
                "the file is truncated or damaged"
            )
        return self._data[start : start + segment.size]


def insert_header(flatbuffer: FlatbufferResult, header: bytes) -> Cord:
    """The flatbuffer with a header inserted after its identifier. The header's size must keep the rest aligned."""
    if len(header) % flatbuffer.max_alignment:
        raise ValueError(
            f"a header of {len(header)} bytes breaks the flatbuffer's alignment {flatbuffer.max_alignment}"
        )
    start, *rest = flatbuffer.parts
    root = int.from_bytes(start[:4], "little") + len(header)
    file = Cord(root.to_bytes(4, "little") + start[4:HEADER_OFFSET])
    file.append(header)
    file.append(start[HEADER_OFFSET:])
    for part in rest:
        file.append(part)
    return file
