# SPDX-License-Identifier: BSD-3-Clause
"""Bytes of flatbuffers: a buffer that grows from its end, and bounds-checked access to one that cannot be trusted."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from typing import Any

U32 = struct.Struct("<I")

MAX_BUFFER_SIZE = 2**31 - 1
"""Offsets have 32 bits; vtables use the sign bit."""

_SHARE_LIMIT = 4096
"""Larger byte strings are not compared with earlier ones: hashing them costs more than it saves."""


class FlatbufferError(ValueError):
    """Bytes that are not a valid buffer of the expected schema, or values that the schema cannot hold."""


@dataclass
class FlatbufferResult:
    """A finished buffer in pieces, so that large data inside it is not copied until it is written."""

    parts: list[bytes]
    size: int
    max_alignment: int

    @cached_property
    def data(self) -> bytes:
        return b"".join(self.parts)


class Writer:
    """A buffer under construction. Positions count bytes from the end of the buffer, so they never change."""

    def __init__(self, max_alignment: int = 4) -> None:
        self._chunks: list[bytes] = []
        self._shared: dict[tuple[int, bytes], int] = {}
        self.tables: dict[tuple[Any, ...], int] = {}
        self.size = 0
        self.max_alignment = max_alignment

    def append(self, data: bytes, align: int, prefix: bytes = b"") -> int:
        """Puts `prefix + data` in front, with `data` at a multiple of `align`; returns the position."""
        self.max_alignment = max(self.max_alignment, align)
        padding = -(self.size + len(data)) % align
        if padding:
            self._chunks.append(bytes(padding))
        self._chunks.append(data)
        if prefix:
            self._chunks.append(prefix)
        self.size += padding + len(data) + len(prefix)
        if self.size > MAX_BUFFER_SIZE:
            raise FlatbufferError(
                f"the program's metadata exceeds {MAX_BUFFER_SIZE} bytes, the limit of the format; "
                "keep constants and delegate data out of it (extract_delegate_segments=True)"
            )
        return self.size

    def append_shared(self, data: bytes, align: int, prefix: bytes = b"") -> int:
        """Like `append`, but returns the position of equal bytes if the buffer already has them."""
        if len(data) > _SHARE_LIMIT:
            return self.append(data, align, prefix)
        key = (align, prefix + data)
        position = self._shared.get(key)
        if position is None:
            position = self._shared[key] = self.append(data, align, prefix)
        return position

    def finish(self, root: int, identifier: bytes) -> FlatbufferResult:
        end = self.size + 8 + -(self.size + 8) % self.max_alignment
        self._chunks.append(bytes(end - 8 - self.size))
        self._chunks.append(struct.pack("<I4s", end - root, identifier))
        return FlatbufferResult(self._chunks[::-1], end, self.max_alignment)


class Reader:
    """Bounds-checked access to the bytes of a buffer.

    Valid buffers may store a table once and refer to it often, so work can exceed the size of a hostile buffer by far:
    `spend` counts what has been read against a budget.
    """

    def __init__(self, data: bytes | memoryview) -> None:
        self.data = memoryview(data).cast("B")
        self.size = len(self.data)
        self.budget = 1_000_000 + 64 * self.size

    def unpack(self, fmt: struct.Struct, offset: int, what: str) -> tuple[Any, ...]:
        if offset < 0 or offset + fmt.size > self.size:
            raise self.error(what, offset, f"needs {fmt.size} bytes but the buffer has {self.size}")
        return fmt.unpack_from(self.data, offset)

    def follow(self, offset: int, what: str) -> int:
        """The target of the 32-bit offset stored at `offset`."""
        (distance,) = self.unpack(U32, offset, what)
        if distance == 0:
            raise self.error(what, offset, "has a null offset")
        return offset + distance

    def vector(self, offset: int, width: int, what: str) -> tuple[int, int]:
        """The first byte and the number of elements of the vector that the offset stored at `offset` points to."""
        start = self.follow(offset, what)
        (count,) = self.unpack(U32, start, what)
        if start + 4 + count * width > self.size:
            raise self.error(what, start, f"has {count} elements of {width} bytes but the buffer has {self.size} bytes")
        return start + 4, count

    def spend(self, count: int, what: str, offset: int) -> None:
        self.budget -= count
        if self.budget < 0:
            raise self.error(what, offset, "is reached too often; the buffer refers to the same data again and again")

    def error(self, what: str, offset: int, problem: str) -> FlatbufferError:
        return FlatbufferError(f"{what} at byte {offset} {problem}; the file is damaged or of another format")
