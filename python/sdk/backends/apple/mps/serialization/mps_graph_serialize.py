# SPDX-License-Identifier: BSD-3-Clause
"""Payloads: a header, the graph as a flatbuffer, and the bytes of constants."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final

from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.apple.mps.serialization.tables import GRAPH
from sdk.backends.payload import ALIGNMENT, flatbuffer_of
from sdk.exir._serialize._flatbuffer import FlatbufferError, read_root

IDENTIFIER: Final = b"MP00"


class PayloadError(ValueError):
    """A payload is damaged or of another format."""


@dataclass
class MPSDelegateHeader:
    """The offset in the payload and the size of the constants, in bytes. The graph follows the header."""

    MAGIC_IX: ClassVar[slice] = slice(4, 8)
    DATA_SEGMENT_OFFSET_IX: ClassVar[slice] = slice(8, 16)
    DATA_SEGMENT_SIZE_IX: ClassVar[slice] = slice(16, 24)
    EXPECTED_MAGIC: ClassVar[bytes] = IDENTIFIER
    _FORM: ClassVar[Struct] = Struct("<4x4sQQ")
    EXPECTED_LENGTH: ClassVar[int] = _FORM.size

    constants_offset: int
    constants_size: int

    @staticmethod
    def from_bytes(payload: bytes | memoryview) -> MPSDelegateHeader:
        """The header at the start of a payload. Raises PayloadError."""
        form = MPSDelegateHeader._FORM
        if len(payload) < form.size:
            raise PayloadError(f"a payload for MPS has {form.size} bytes at least; this one has {len(payload)}")
        magic, offset, size = form.unpack(bytes(payload[: form.size]))
        if magic != IDENTIFIER:
            raise PayloadError(f"expected {IDENTIFIER!r} at byte 4 of a payload for MPS, found {magic!r}")
        if not form.size <= offset <= len(payload) or size > len(payload) - offset:
            raise PayloadError(
                f"the constants lie at {offset} and have {size} bytes; the payload has {len(payload)} bytes"
            )
        return MPSDelegateHeader(offset, size)

    def to_bytes(self) -> bytes:
        return self._FORM.pack(IDENTIFIER, self.constants_offset, self.constants_size)


def convert_to_flatbuffer(mps_graph: MPSGraph) -> bytes:
    """The flatbuffer of a graph."""
    return flatbuffer_of(GRAPH, mps_graph, IDENTIFIER, ALIGNMENT)


def serialize_mps_graph(mps_graph: MPSGraph) -> bytes:
    """Serialises a graph. Moves the constants from the buffers of its values to a block after the graph."""
    constants: list[bytes] = []
    size = 0
    for value in mps_graph.mps_values:
        if value.constant_buffer is None:
            continue
        data = value.constant_buffer.storage
        value.constant_buffer, value.segment_offset = None, size
        constants += [data, bytes(-len(data) % ALIGNMENT)]
        size += len(data) + -len(data) % ALIGNMENT
    graph = convert_to_flatbuffer(mps_graph)
    start = MPSDelegateHeader.EXPECTED_LENGTH + len(graph)
    gap = bytes(-start % ALIGNMENT)
    header = MPSDelegateHeader(start + len(gap), size).to_bytes()
    return b"".join((header, graph, gap, *constants))


def read_mps_graph(payload: bytes | memoryview) -> tuple[MPSGraph, memoryview]:
    """The graph of a payload and the bytes of its constants. Whether the graph makes sense is not checked: see
    `check.check_graph`.

    Raises:
        PayloadError: the payload is damaged or of another format.
    """
    data = memoryview(payload).cast("B")
    header = MPSDelegateHeader.from_bytes(data)
    try:
        graph: MPSGraph = read_root(GRAPH, data[header.EXPECTED_LENGTH : header.constants_offset], IDENTIFIER)
    except FlatbufferError as error:
        raise PayloadError(f"the graph of a payload for MPS is damaged: {error}") from error
    return graph, data[header.constants_offset :][: header.constants_size]
