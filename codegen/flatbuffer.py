# SPDX-License-Identifier: BSD-3-Clause
"""Reads flatbuffers without generated code, for the few tables of a program that name operators."""

from __future__ import annotations

import struct


class ProgramError(ValueError):
    """The file is not a program, or it is damaged."""


class Table:
    """A table of a flatbuffer (flatbuffers.dev/internals): its vtable says where each field is."""

    def __init__(self, data: bytes, position: int) -> None:
        self._data, self._position = data, position
        self._vtable = position - read("<i", data, position)
        self._vtable_size = read("<H", data, self._vtable)

    def number(self, index: int, layout: str, default: int = 0) -> int:
        """A number, as struct's `layout` says."""
        offset = self._offset(index)
        return default if offset == 0 else read(layout, self._data, self._position + offset)

    def table(self, index: int) -> Table | None:
        """A table, or the value of a union; None if it is absent."""
        start = self._start(index)
        return None if start is None else Table(self._data, start)

    def tables(self, index: int) -> list[Table]:
        """A list of tables; empty if it is absent."""
        entries = self._entries(index, 4)
        return [Table(self._data, entry + read("<I", self._data, entry)) for entry in entries]

    def numbers(self, index: int, layout: str) -> list[int]:
        """A list of numbers; empty if it is absent."""
        return [read(layout, self._data, entry) for entry in self._entries(index, struct.calcsize(layout))]

    def text(self, index: int) -> str:
        """A string; empty if it is absent."""
        start = self._start(index)
        if start is None:
            return ""
        length = read("<I", self._data, start)
        return self._data[start + 4 : start + 4 + length].decode("utf-8")

    def _entries(self, index: int, size: int) -> range:
        start = self._start(index)
        if start is None:
            return range(0)
        count = read("<I", self._data, start)
        if count * size > len(self._data):
            raise ProgramError("a list is longer than the file")
        return range(start + 4, start + 4 + size * count, size)

    def _offset(self, index: int) -> int:
        entry = 4 + 2 * index
        return read("<H", self._data, self._vtable + entry) if entry < self._vtable_size else 0

    def _start(self, index: int) -> int | None:
        """The position of the object that a field refers to."""
        offset = self._offset(index)
        if offset == 0:
            return None
        position = self._position + offset
        return position + read("<I", self._data, position)


def read(layout: str, data: bytes, position: int) -> int:
    """Reads one number. Raises struct.error beyond the end of the data."""
    if position < 0:
        raise ProgramError("an offset points before the file")
    (value,) = struct.unpack_from(layout, data, position)
    return int(value)
