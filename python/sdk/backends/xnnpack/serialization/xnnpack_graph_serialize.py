# SPDX-License-Identifier: BSD-3-Clause
"""Payloads: a header, the graph as a flatbuffer, and constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import GRAPH, XNNGraph, XNNStep
from sdk.exir._serialize._flatbuffer import write_root

_HEADER_BYTEORDER: Final = "little"
_ALIGNMENT = 16

IDENTIFIER: Final = b"XN01"
IDENTIFIER_WITH_STEPS: Final = b"XNS1"


@dataclass
class XNNHeader:
    """The locations of a payload's parts. Offsets count from its start."""

    MAGIC: ClassVar[bytes] = b"XH00"
    LENGTH: ClassVar[int] = 30
    # Name and size in bytes of each field, in order, after four zeros, the magic and the header's length.
    _FIELDS: ClassVar[dict[str, int]] = {
        "flatbuffer_offset": 4,
        "flatbuffer_size": 4,
        "constant_data_offset": 4,
        "constant_data_size": 8,
    }

    flatbuffer_offset: int
    flatbuffer_size: int
    constant_data_offset: int
    constant_data_size: int

    @staticmethod
    def from_bytes(data: bytes) -> XNNHeader:
        """The header at the start of `data`. Raises ValueError if there is none."""
        if len(data) < XNNHeader.LENGTH or data[4:8] != XNNHeader.MAGIC:
            raise ValueError(
                f"expected a payload for XNNPACK, {XNNHeader.LENGTH} bytes or more with {XNNHeader.MAGIC!r} at byte 4; "
                f"found {len(data)} bytes with {bytes(data[4:8])!r}"
            )
        length = int.from_bytes(data[8:10], _HEADER_BYTEORDER)
        if length < XNNHeader.LENGTH:
            raise ValueError(f"the header of a payload has {length} bytes; expected at least {XNNHeader.LENGTH}")
        at, values = 10, []
        for width in XNNHeader._FIELDS.values():
            values.append(int.from_bytes(data[at : at + width], _HEADER_BYTEORDER))
            at += width
        return XNNHeader(*values)

    def is_valid(self) -> bool:
        """Checks that the graph follows the header, and the constants follow the graph."""
        return (
            self.flatbuffer_offset >= self.LENGTH
            and self.flatbuffer_size > 0
            and self.constant_data_offset >= self.flatbuffer_offset + self.flatbuffer_size
            and self.constant_data_size >= 0
        )

    def to_bytes(self) -> bytes:
        if not self.is_valid():
            raise ValueError(f"the parts of a payload overlap: {self}")
        numbers = b"".join(getattr(self, name).to_bytes(n, _HEADER_BYTEORDER) for name, n in self._FIELDS.items())
        return bytes(4) + self.MAGIC + self.LENGTH.to_bytes(2, _HEADER_BYTEORDER) + numbers


def serialize_xnnpack_binary(xnnpack_graph: XNNGraph, constant_data_bytes: bytearray) -> bytes:
    """The payload of a graph and of its constants without names. The identifier is that of the original's format unless
    the graph has steps."""
    has_steps = any(isinstance(node.xnode_union, XNNStep) for node in xnnpack_graph.xnodes)
    identifier = IDENTIFIER_WITH_STEPS if has_steps else IDENTIFIER
    graph = _padded(b"".join(bytes(part) for part in write_root(GRAPH, xnnpack_graph, identifier, 8).parts))
    start = XNNHeader.LENGTH + -XNNHeader.LENGTH % _ALIGNMENT
    header = XNNHeader(start, len(graph), start + len(graph), len(constant_data_bytes))
    return _padded(header.to_bytes()) + graph + bytes(constant_data_bytes)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGNMENT)
