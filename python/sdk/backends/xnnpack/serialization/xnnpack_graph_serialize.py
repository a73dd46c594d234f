# SPDX-License-Identifier: BSD-3-Clause
"""Payloads: a header, the graph as a flatbuffer, and constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from sdk.backends.payload import PartsHeader, flatbuffer_of, join_parts, padded
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import GRAPH, XNNGraph, XNNStep

IDENTIFIER: Final = b"XN01"
IDENTIFIER_WITH_STEPS: Final = b"XNS1"


@dataclass
class XNNHeader(PartsHeader):
    """The locations of a payload's parts. Offsets count from its start."""

    MAGIC: ClassVar[bytes] = b"XH00"
    LENGTH: ClassVar[int] = PartsHeader.FORM.size
    EXPECTED_MAGIC: ClassVar[bytes] = MAGIC

    flatbuffer_offset: int
    flatbuffer_size: int
    constant_data_offset: int
    constant_data_size: int

    @staticmethod
    def from_bytes(data: bytes) -> XNNHeader:
        """Reads the header at the start of `data`. Raises ValueError if there is no header."""
        if len(data) < XNNHeader.LENGTH or data[4:8] != XNNHeader.MAGIC:
            raise ValueError(
                f"expected a payload for XNNPACK, {XNNHeader.LENGTH} bytes or more with {XNNHeader.MAGIC!r} at byte 4; "
                f"found {len(data)} bytes with {bytes(data[4:8])!r}"
            )
        _, length, *fields = XNNHeader.FORM.unpack(data[: XNNHeader.LENGTH])
        if length < XNNHeader.LENGTH:
            raise ValueError(f"the header of a payload has {length} bytes; expected at least {XNNHeader.LENGTH}")
        return XNNHeader(*fields)


def serialize_xnnpack_binary(xnnpack_graph: XNNGraph, constant_data_bytes: bytearray) -> bytes:
    """The payload of a graph and of its constants without names. The identifier is ExecuTorch's, unless the graph
    has steps."""
    has_steps = any(isinstance(node.xnode_union, XNNStep) for node in xnnpack_graph.xnodes)
    identifier = IDENTIFIER_WITH_STEPS if has_steps else IDENTIFIER
    graph = padded(flatbuffer_of(GRAPH, xnnpack_graph, identifier))
    return join_parts(XNNHeader, graph, bytes(constant_data_bytes))
