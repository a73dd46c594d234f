# SPDX-License-Identifier: BSD-3-Clause
"""Writes a dataclass with the bytes that flatc makes of its JSON: children first, the fields of a table by size and
from the last to the first, each vtable in front of its table unless an equal one exists, and no shared strings."""

from __future__ import annotations

import struct
from typing import Any

from sdk.exir._serialize._flatbuffer import STRING, Table, Vector

_WIDTHS = (8, 4, 2, 1)


class _Builder:
    """A buffer that grows from its end. Positions count from the end, so that they never change."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._vtables: dict[bytes, int] = {}
        self.size = 0
        self.alignment = 1

    def push(self, data: bytes) -> int:
        self._chunks.append(data)
        self.size += len(data)
        return self.size

    def align(self, width: int, following: int = 0) -> None:
        """Pads with zeros, so that the data after `following` more bytes are aligned."""
        self.alignment = max(self.alignment, width)
        self.push(bytes(-(self.size + following) % width))

    def number(self, code: str, value: Any) -> int:
        data = struct.pack("<" + code, value)
        self.align(len(data))
        return self.push(data)

    def reference(self, position: int) -> int:
        """Appends the offset of an object, relative to the new position."""
        self.align(4)
        return self.number("I", self.size + 4 - position)

    def string(self, text: str) -> int:
        data = text.encode() + b"\0"
        self.align(4, len(data))
        self.push(data)
        return self.number("I", len(data) - 1)

    def vector(self, kind: Vector, items: list[Any]) -> int:
        positions = [self.object(kind.item, item) for item in items]
        self.align(4, 4 * len(items))
        for position in reversed(positions):
            self.reference(position)
        return self.number("I", len(items))

    def object(self, kind: Any, value: Any) -> int:
        if isinstance(kind, Table):
            return self.table(kind, value)
        return self.vector(kind, value) if isinstance(kind, Vector) else self.string(value)

    def table(self, kind: Table, value: Any) -> int:
        fields: list[tuple[Any, int, Any]] = []
        for name, of, slot in kind.fields:
            item = getattr(value, name)
            if item is None:
                continue
            if of is STRING or isinstance(of, (Table, Vector)):
                fields.append((of, slot, self.object(of, item)))
            elif item != of.default:
                fields.append((of, slot, item))
        start, places = self.size, {}
        for width in _WIDTHS:
            for of, slot, item in reversed(fields):
                if of.width == width:
                    places[slot] = self.reference(item) if of.is_offset else self.number(of.code, item)
        self.align(4)
        end = self.size + 4
        slots = range(max(places, default=-1) + 1)
        offsets = [end - places[slot] if slot in places else 0 for slot in slots]
        vtable = struct.pack(f"<{2 + len(offsets)}H", 4 + 2 * len(offsets), end - start, *offsets)
        known = self._vtables.get(vtable)
        self.push(struct.pack("<i", (end + len(vtable) if known is None else known) - end))
        if known is None:
            self._vtables[vtable] = self.push(vtable)
        return end

    def finish(self, root: int) -> bytes:
        self.align(self.alignment, 4)
        self.reference(root)
        return b"".join(reversed(self._chunks))


def write(table: Table, value: Any) -> bytes:
    """The flatbuffer of a value, without an identifier. Scalars are at most 8 bytes wide."""
    builder = _Builder()
    return builder.finish(builder.table(table, value))
