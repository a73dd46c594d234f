# SPDX-License-Identifier: BSD-3-Clause
"""Reads and writes payloads that consist of a header, a graph as a flatbuffer, and the bytes of constants. Several
backends use this format."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from struct import Struct
from typing import Any, ClassVar, Final

from sdk.exir._serialize._flatbuffer import write_root

ALIGNMENT: Final = 16
"""The parts of a payload begin at multiples of this, in bytes."""


@dataclass
class PartsHeader:
    """The locations of a payload's graph and constants. A subclass has four fields: the offset and the size of the
    graph, and of the constants. Offsets count from the start of the payload."""

    # Four zeros, the magic, the header's length, and the fields in order.
    FORM: ClassVar[Struct] = Struct("<4x4sHIIIQ")
    EXPECTED_MAGIC: ClassVar[bytes]

    def is_valid(self) -> bool:
        """Checks that the graph follows the header, and the constants follow the graph."""
        graph, graph_size, constants, constants_size = astuple(self)
        return bool(
            graph >= self.FORM.size and graph_size > 0 and constants >= graph + graph_size and constants_size >= 0
        )

    def to_bytes(self) -> bytes:
        """The bytes at the start of the payload. Raises ValueError if the parts overlap."""
        if not self.is_valid():
            raise ValueError(f"the parts of a payload overlap: {self}")
        return self.FORM.pack(self.EXPECTED_MAGIC, self.FORM.size, *astuple(self))


def join_parts(header: type[PartsHeader], graph: bytes, constants: bytes) -> bytes:
    """The payload of a graph and constants."""
    start, graph_size = aligned(header.FORM.size), aligned(len(graph))
    made: Any = header
    head: PartsHeader = made(start, len(graph), start + graph_size, len(constants))
    return padded(head.to_bytes()) + padded(graph) + constants


def flatbuffer_of(table: Any, graph: Any, identifier: bytes, alignment: int = 8) -> bytes:
    """The flatbuffer of a graph of the type `table`."""
    return b"".join(bytes(part) for part in write_root(table, graph, identifier, alignment).parts)


def aligned(size: int) -> int:
    """The next multiple of `ALIGNMENT`."""
    return size + -size % ALIGNMENT


def padded(data: bytes) -> bytes:
    """The data with zeros up to a multiple of `ALIGNMENT`."""
    return data + bytes(aligned(len(data)) - len(data))
