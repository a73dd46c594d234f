# SPDX-License-Identifier: BSD-3-Clause
"""The graphs of several methods as one reference payload, in which they share their constants.

Numbers are little-endian:

    8 bytes      "NPUSET01"
    u32          how many graphs follow
    graphs       text method, u32 bytes, and a reference payload whose constants are named data
    constants    from the first multiple of 16 bytes on

A text is u16 bytes and UTF-8.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from sdk.backends.npu import reference_payload
from sdk.backends.npu.graph import Graph
from sdk.backends.npu.reference_payload import Constants, encoded_text
from sdk.backends.npu.reference_reader import Reader
from sdk.backends.payload import aligned, padded

MAGIC: Final = b"NPUSET01"
_KEY: Final = "constants"


def is_set(payload: bytes | memoryview) -> bool:
    """Whether bytes begin as the payload of several graphs does."""
    return bytes(payload[: len(MAGIC)]) == MAGIC


def to_bytes(graphs: Mapping[str, Graph]) -> bytes:
    """The payload of the graphs of methods. Each distinct constant is stored once."""
    constants = Constants()
    out = bytearray(MAGIC + struct.pack("<I", len(graphs)))
    for method, graph in graphs.items():
        data = reference_payload.to_bytes(graph, constants, _KEY)
        out += encoded_text(method) + struct.pack("<I", len(data)) + data
    return padded(bytes(out)) + constants.to_bytes()


def from_bytes(payload: bytes | memoryview) -> dict[str, Graph]:
    """The graphs of a payload by their methods. Raises ValueError for bytes that are not a valid payload."""
    reader = Reader(payload)
    if reader.bytes(len(MAGIC)) != MAGIC:
        raise ValueError("the payload does not have the graphs of several methods")
    parts: dict[str, bytes] = {}
    for _ in range(reader.count()):
        method = reader.text()
        if method in parts:
            raise ValueError(f"the payload has two graphs for the method {method!r}")
        parts[method] = reader.bytes(reader.count())
    constants = bytes(memoryview(payload)[aligned(reader.offset) :])
    return {method: reference_payload.from_bytes(part, lambda key: constants) for method, part in parts.items()}
