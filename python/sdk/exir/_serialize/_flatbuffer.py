# SPDX-License-Identifier: BSD-3-Clause
"""Reads and writes flatbuffers from a declaration of their tables, without generated code and without flatc.

A `Table` names a dataclass and the type of each of its fields in schema order, which gives the field ids::

    POINT = Table(Point, x=INT, y=INT)
    PATH = Table(Path, name=STRING, points=Vector(POINT))
    data = b"".join(write_root(PATH, path, b"PATH").parts)
    assert read_root(PATH, data, b"PATH") == path

The writer builds the buffer from its end, children first, and stores equal tables, strings and vectors of numbers once,
except those of more than 4 KiB; vectors of tables are not shared. The reader trusts nothing: whatever the bytes are, it
returns a dataclass or raises `FlatbufferError`.

Format: https://flatbuffers.dev/internals
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any, get_args, get_type_hints

from sdk.exir._serialize._flatbuffer_io import U32, FlatbufferError, FlatbufferResult, Reader, Writer

__all__ = [
    "BOOL",
    "BYTE",
    "DOUBLE",
    "INT",
    "LONG",
    "STRING",
    "UBYTE",
    "UINT",
    "ULONG",
    "Bytes",
    "Enum",
    "FlatbufferError",
    "FlatbufferResult",
    "Reader",
    "Reserved",
    "Scalar",
    "Table",
    "Union",
    "Vector",
    "Writer",
    "read_root",
    "write_root",
]

_I32 = struct.Struct("<i")
_VTABLE_HEADER = struct.Struct("<HH")
_THIS_SDK = "this SDK (schema of ExecuTorch 1.5)"


class Scalar:
    """A number stored in place. A field that equals `default` is not stored."""

    is_offset = False
    slots = 1

    def __init__(self, code: str, name: str, default: Any = 0) -> None:
        self.code, self.name, self.default = code, name, default
        self.struct = struct.Struct("<" + code)
        self.width = self.struct.size

    def write(self, writer: Writer, value: Any) -> Any:
        return None if value == self.default else value

    def read(self, reader: Reader, offset: int, what: str) -> Any:
        return reader.unpack(self.struct, offset, what)[0]

    def write_items(self, items: Sequence[Any]) -> bytes:
        return struct.pack(f"<{len(items)}{self.code}", *items)

    def read_items(self, reader: Reader, start: int, count: int) -> list[Any]:
        return list(struct.unpack_from(f"<{count}{self.code}", reader.data, start))


class Double(Scalar):
    """A double whose dataclass may spell infinities as text ("inf", "-inf"), as JSON does."""

    def write(self, writer: Writer, value: Any) -> Any:
        value = float(value)
        # Minus zero equals the default 0.0 but must not become it.
        return None if value == 0.0 and struct.pack("<d", value) == bytes(8) else value


class Enum(Scalar):
    """An `IntEnum` stored as a byte: signed, or unsigned with the code "B"."""

    def __init__(self, cls: type[IntEnum], code: str = "b", default: int = 0) -> None:
        super().__init__(code, cls.__name__, cls(default))
        self.cls = cls

    def read(self, reader: Reader, offset: int, what: str) -> IntEnum:
        value = super().read(reader, offset, what)
        try:
            return self.cls(value)
        except ValueError:
            known = ", ".join(f"{member.value} {member.name}" for member in self.cls)
            raise reader.error(what, offset, f"is {value}, which is not a {self.name} ({known})") from None


BYTE = Scalar("b", "int8")
UBYTE = Scalar("B", "uint8")
BOOL = Scalar("?", "bool", False)
INT = Scalar("i", "int32")
UINT = Scalar("I", "uint32")
LONG = Scalar("q", "int64")
ULONG = Scalar("Q", "uint64")
DOUBLE = Double("d", "float64", 0.0)


class _Offset:
    """A field that a table refers to by a 32-bit offset."""

    is_offset = True
    slots = 1
    code = "I"
    width = 4


class _String(_Offset):
    default = ""

    def write(self, writer: Writer, value: str) -> int:
        data = value.encode()
        return writer.append_shared(data + b"\0", 4, U32.pack(len(data)))

    def read(self, reader: Reader, offset: int, what: str) -> str:
        start, count = reader.vector(offset, 1, what)
        reader.spend(1 + count // 8, what, start)
        try:
            return str(reader.data[start : start + count], "utf-8")
        except UnicodeDecodeError as error:
            raise reader.error(what, start, f"is not UTF-8 text ({error.reason})") from None


STRING = _String()


class Bytes(_Offset):
    """A vector of bytes, at a multiple of `align` in the file."""

    default = b""

    def __init__(self, align: int = 1) -> None:
        self.align = align

    def write(self, writer: Writer, value: bytes) -> int:
        return writer.append_shared(bytes(value), max(self.align, 4), U32.pack(len(value)))

    def read(self, reader: Reader, offset: int, what: str) -> bytes:
        start, count = reader.vector(offset, 1, what)
        reader.spend(1 + count // 8, what, start)
        return bytes(reader.data[start : start + count])


class Reserved:
    """`count` unused field ids, which are neither written nor read."""

    def __init__(self, count: int) -> None:
        self.slots = count


class Vector(_Offset):
    """A vector of scalars or of tables."""

    def __init__(self, item: Scalar | Table) -> None:
        self.item = item

    @property
    def default(self) -> list[Any]:
        return []

    def write(self, writer: Writer, value: Sequence[Any]) -> int:
        count = U32.pack(len(value))
        if isinstance(self.item, Scalar):
            return writer.append_shared(self.item.write_items(value), max(self.item.width, 4), count)
        # Children are laid out in order, so they are written from the last to the first.
        positions = [self.item.write(writer, item) for item in reversed(value)][::-1]
        size = 4 * len(positions)
        end = writer.size + -(writer.size + size) % 4 + size
        offsets = [end - 4 * i - position for i, position in enumerate(positions)]
        return writer.append(struct.pack(f"<{len(offsets)}I", *offsets), 4, count)

    def read(self, reader: Reader, offset: int, what: str) -> list[Any]:
        item = self.item
        start, count = reader.vector(offset, item.width, what)
        reader.spend(1 + count, what, start)
        if isinstance(item, Scalar):
            return item.read_items(reader, start, count)
        return [item.read(reader, start + 4 * i, f"{what}[{i}]") for i in range(count)]


class Union(_Offset):
    """One of several tables, chosen by a byte in the field before it: `number: table`. 0 means none and is an error."""

    slots = 2
    default = None

    def __init__(self, members: dict[int, Table]) -> None:
        self.members = members
        self.numbers = {member.cls: number for number, member in members.items()}

    def number(self, value: Any, what: str) -> int:
        number = self.numbers.get(type(value))
        if number is None:
            names = ", ".join(cls.__name__ for cls in self.numbers)
            raise FlatbufferError(f"{what} is a {type(value).__name__}; expected one of {names}")
        return number


@dataclass
class _Layout:
    """The layout of a table: a vtable, which tables with the same fields present share."""

    struct: struct.Struct
    vtable: bytes
    align: int
    order: list[int]  # slots in the order in which they are stored
    offsets: list[tuple[int, int]] = field(default_factory=list)  # (index into the packed values, byte in the table)


class Table(_Offset):
    """A dataclass stored as a table. Keyword arguments give the fields' types in the order of the schema."""

    default = None

    def __init__(self, cls: type, **fields: Scalar | _Offset | Union | Reserved) -> None:
        self.cls = cls
        self.fields: list[tuple[str, Any, int]] = []  # name, type, slot
        self.slot_types: list[Any] = []
        for name, kind in fields.items():
            if isinstance(kind, Reserved):
                self.slot_types += [None] * kind.slots
                continue
            if isinstance(kind, Union):
                self.slot_types.append(UBYTE)
            self.fields.append((name, kind, len(self.slot_types)))
            self.slot_types.append(kind)
        self._layouts: dict[int, _Layout] = {}

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        """The values of absent fields, by name: None where the dataclass allows it, else the type's zero."""
        hints = get_type_hints(self.cls)
        return {name: None if type(None) in get_args(hints[name]) else kind.default for name, kind, _ in self.fields}

    def write(self, writer: Writer, value: Any) -> int:
        """Writes the table and all that it refers to; returns its position."""
        if type(value) is not self.cls:
            raise FlatbufferError(f"expected a {self.cls.__name__}, found {value!r:.80}")
        slots: list[Any] = [None] * len(self.slot_types)
        present = 0
        for name, kind, slot in self.fields:
            item = getattr(value, name)
            if item is None:
                continue
            try:
                if kind.slots == 2:
                    number = slots[slot - 1] = kind.number(item, f"{self.cls.__name__}.{name}")
                    slots[slot] = kind.members[number].write(writer, item)
                    present |= 3 << (slot - 1)
                    continue
                item = kind.write(writer, item)
            except (struct.error, TypeError, AttributeError) as error:
                raise FlatbufferError(f"{self.cls.__name__}.{name} cannot hold {item!r:.80}: {error}") from error
            if item is not None:
                slots[slot] = item
                present |= 1 << slot
        layout = self._layouts.get(present)
        if layout is None:
            layout = self._layouts[present] = self._layout(present)
        return self._append(writer, layout, [slots[slot] for slot in layout.order])

    def _layout(self, present: int) -> _Layout:
        """The table's bytes: the largest fields first, smaller ones in the gaps that alignment would leave."""
        remaining = sorted(
            (slot for slot in range(len(self.slot_types)) if present >> slot & 1),
            key=lambda slot: -self.slot_types[slot].width,
        )
        align = max([4, *(self.slot_types[slot].width for slot in remaining)])
        fmt, byte = "<i", 4
        order: list[int] = []
        positions: dict[int, int] = {}
        while remaining:
            slot = next((slot for slot in remaining if byte % self.slot_types[slot].width == 0), remaining[0])
            remaining.remove(slot)
            kind = self.slot_types[slot]
            padding = -byte % kind.width
            fmt += f"{padding}x{kind.code}"
            positions[slot] = byte + padding
            byte += padding + kind.width
            order.append(slot)
        slots = range(max(positions, default=-1) + 1)
        vtable = struct.pack(f"<HH{len(slots)}H", 4 + 2 * len(slots), byte, *(positions.get(slot, 0) for slot in slots))
        offsets = [(i, positions[slot]) for i, slot in enumerate(order) if self.slot_types[slot].is_offset]
        return _Layout(struct.Struct(fmt), vtable, align, order, offsets)

    def _append(self, writer: Writer, layout: _Layout, values: list[Any]) -> int:
        key = (id(layout), *values)
        position = writer.tables.get(key)
        if position is not None:
            return position
        vtable = writer.append_shared(layout.vtable, 2)
        end = writer.size + layout.struct.size
        end += -end % layout.align
        for index, byte in layout.offsets:
            values[index] = end - byte - values[index]
        try:
            data = layout.struct.pack(vtable - end, *values)
        except struct.error as error:
            scalars = (
                (name, kind, slot) for name, kind, slot in self.fields if slot in layout.order and not kind.is_offset
            )
            stored = ", ".join(
                f"{name}: {kind.name} = {key[1 + layout.order.index(slot)]}" for name, kind, slot in scalars
            )
            raise FlatbufferError(f"{self.cls.__name__}({stored}) has a value out of range: {error}") from error
        position = writer.tables[key] = writer.append(data, layout.align)
        return position

    def read(self, reader: Reader, offset: int, what: str) -> Any:
        """The table that the offset stored at `offset` points to."""
        position = reader.follow(offset, what)
        reader.spend(1, what, position)
        (distance,) = reader.unpack(_I32, position, what)
        vtable = position - distance
        vtable_size, table_size = reader.unpack(_VTABLE_HEADER, vtable, f"vtable of {what}")
        if vtable_size < 4 or vtable_size % 2 or vtable + vtable_size > reader.size:
            raise reader.error(f"vtable of {what}", vtable, f"has the impossible size {vtable_size}")
        if position + table_size > reader.size:
            raise reader.error(what, position, f"has {table_size} bytes but the buffer ends at {reader.size}")
        places = struct.unpack_from(f"<{vtable_size // 2 - 2}H", reader.data, vtable + 4)

        def place(slot: int, kind: Any, name: str) -> int:
            at = places[slot] if slot < len(places) else 0
            if at and (at < 4 or at + kind.width > table_size):
                raise reader.error(
                    f"{what}.{name}", position, f"lies at {at}, outside of its table of {table_size} bytes"
                )
            return at and position + at

        values = {}
        for name, kind, slot in self.fields:
            at = place(slot, kind, name)
            if kind.slots == 2:
                number_at = place(slot - 1, UBYTE, name)
                number = reader.data[number_at] if number_at else 0
                if not at or number not in kind.members:
                    newest = max(kind.members)
                    unknown = f"has the unknown type {number}: {_THIS_SDK} reads up to {newest}"
                    raise reader.error(f"{what}.{name}", position, unknown if at else "is missing")
                kind = kind.members[number]
            values[name] = kind.read(reader, at, f"{what}.{name}") if at else self._defaults[name]
        return self.cls(**values)


def write_root(table: Table, value: Any, identifier: bytes, max_alignment: int = 4) -> FlatbufferResult:
    """A buffer with `value` as its root and `identifier` at bytes 4..7, aligned for `max_alignment`."""
    writer = Writer(max_alignment)
    return writer.finish(table.write(writer, value), identifier)


def read_root(table: Table, data: bytes | memoryview, identifier: bytes, newest: int | None = None) -> Any:
    """The root of a buffer. Raises `FlatbufferError` if the bytes are not a valid buffer with that identifier, or if
    the root's `version` is above `newest`."""
    reader = Reader(data)
    if reader.size < 8:
        raise FlatbufferError(f"expected a {table.cls.__name__}, found only {reader.size} bytes; the file is truncated")
    found = bytes(reader.data[4:8])
    if found != identifier:
        raise FlatbufferError(
            f"expected the identifier {identifier!r} of a {table.cls.__name__} at byte 4, found {found!r}; "
            "the file is of another format or version"
        )
    root = table.read(reader, 0, table.cls.__name__)
    if newest is not None and root.version > newest:
        raise FlatbufferError(
            f"the file is of a newer release: the field {table.cls.__name__}.version is {root.version}, {_THIS_SDK} "
            f"reads up to {newest}; update the SDK, or export with an older release"
        )
    return root
