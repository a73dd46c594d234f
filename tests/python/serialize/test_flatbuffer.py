# SPDX-License-Identifier: BSD-3-Clause
"""The generic flatbuffer codec."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdk.exir._serialize._flatbuffer import (
    BOOL,
    BYTE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    UBYTE,
    UINT,
    ULONG,
    Bytes,
    Enum,
    FlatbufferError,
    Table,
    Union,
    Vector,
    Writer,
    read_root,
    write_root,
)


class Colour(IntEnum):
    RED = 0
    GREEN = 1


@dataclass
class Point:
    x: int
    y: int


@dataclass
class Text:
    text: str


@dataclass
class Shape:
    flag: bool
    small: int
    big: int
    factor: float
    colour: Colour
    name: str
    note: str | None
    blob: bytes
    numbers: list[int]
    wide: list[int]
    points: list[Point]
    choice: Point | Text


POINT = Table(Point, x=INT, y=INT)
SHAPE = Table(
    Shape,
    flag=BOOL,
    small=BYTE,
    big=ULONG,
    factor=DOUBLE,
    colour=Enum(Colour),
    name=STRING,
    note=STRING,
    blob=Bytes(64),
    numbers=Vector(UBYTE),
    wide=Vector(LONG),
    points=Vector(POINT),
    choice=Union({1: POINT, 7: Table(Text, text=STRING)}),
)

int32 = st.integers(-(2**31), 2**31 - 1)
points = st.builds(Point, int32, int32)
shapes = st.builds(
    Shape,
    flag=st.booleans(),
    small=st.integers(-128, 127),
    big=st.integers(0, 2**64 - 1),
    factor=st.floats(allow_nan=False),
    colour=st.sampled_from(Colour),
    name=st.text(max_size=20),
    note=st.none() | st.text(max_size=5),
    blob=st.binary(max_size=100),
    numbers=st.lists(st.integers(0, 255), max_size=9),
    wide=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5),
    points=st.lists(points, max_size=5),
    choice=points | st.builds(Text, st.text(max_size=9)),
)


@given(shapes)
def test_round_trip(shape: Shape) -> None:
    result = write_root(SHAPE, shape, b"TEST", 16)
    assert len(result.data) == result.size
    assert result.size % result.max_alignment == 0
    assert read_root(SHAPE, result.data, b"TEST") == shape


def test_bytes_are_those_of_the_format() -> None:
    """A table by hand, from the description of the format: vtable, then table, both found from the root offset."""
    data = write_root(POINT, Point(x=7, y=-2), b"TEST").data
    (root,) = struct.unpack_from("<I", data)
    assert data[4:8] == b"TEST"
    (distance,) = struct.unpack_from("<i", data, root)
    vtable_size, table_size, x, y = struct.unpack_from("<4H", data, root - distance)
    assert (vtable_size, table_size) == (8, 12)
    assert struct.unpack_from("<i", data, root + x) == (7,)
    assert struct.unpack_from("<i", data, root + y) == (-2,)


def test_fields_with_default_values_are_not_stored() -> None:
    assert len(write_root(POINT, Point(0, 0), b"TEST").data) < len(write_root(POINT, Point(1, 1), b"TEST").data)


def test_minus_zero_is_not_the_default() -> None:
    table = Table(_Number, value=DOUBLE)
    assert str(read_root(table, write_root(table, _Number(-0.0), b"TEST").data, b"TEST").value) == "-0.0"


@dataclass
class _Number:
    value: float


def test_aligned_bytes_start_at_a_multiple_of_their_alignment() -> None:
    shape = Shape(True, 1, 2, 3.0, Colour.RED, "n", None, b"PAYLOAD", [1], [2], [], Point(1, 2))
    result = write_root(SHAPE, shape, b"TEST")
    assert result.max_alignment == 64
    assert result.data.index(b"PAYLOAD") % 64 == 0


def test_equal_parts_are_stored_once() -> None:
    table = Table(_Many, points=Vector(POINT))
    one = write_root(table, _Many([Point(5, 6)]), b"TEST").size
    many = write_root(table, _Many([Point(5, 6)] * 100), b"TEST").size
    assert many - one < 100 * 5  # an offset of 4 bytes each


@dataclass
class _Many:
    points: list[Point]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Point(2**31, 0), r"Point.*x: int32 = 2147483648.*range"),
        (Point("seven", 0), "seven"),  # type: ignore[arg-type]
    ],
)
def test_values_that_do_not_fit_are_named(value: Point, message: str) -> None:
    with pytest.raises(FlatbufferError, match=message):
        write_root(POINT, value, b"TEST")


def test_wrong_union_member_lists_the_right_ones() -> None:
    shape = Shape(True, 1, 2, 3.0, Colour.RED, "n", None, b"", [], [], [], Colour.RED)  # type: ignore[arg-type]
    with pytest.raises(FlatbufferError, match="expected one of Point, Text"):
        write_root(SHAPE, shape, b"TEST")


def test_a_union_member_of_a_newer_release_is_named() -> None:
    newer = Table(_Choice, choice=Union({1: POINT, 9: Table(_Number, value=DOUBLE)}))
    older = Table(_Choice, choice=Union({1: POINT, 7: Table(Text, text=STRING)}))
    data = write_root(newer, _Choice(_Number(1.0)), b"TEST").data
    with pytest.raises(
        FlatbufferError, match=r"_Choice\.choice.* unknown type 9: this SDK \(schema of ExecuTorch 1\.5\) reads up to 7"
    ):
        read_root(older, data, b"TEST")


@dataclass
class _Choice:
    choice: Point | Text | _Number


def test_wrong_identifier_is_named() -> None:
    data = write_root(POINT, Point(1, 2), b"TEST").data
    with pytest.raises(FlatbufferError, match=r"b'ABCD'.*b'TEST'"):
        read_root(POINT, data, b"ABCD")


@given(shapes, st.data())
def test_hostile_bytes_give_an_error_or_a_value(shape: Shape, data: st.DataObject) -> None:
    """Bit flips and truncation never crash the reader or make it return anything but the dataclass."""
    raw = bytearray(write_root(SHAPE, shape, b"TEST").data)
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(8, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    raw = raw[: data.draw(st.integers(0, len(raw)))]
    try:
        assert isinstance(read_root(SHAPE, bytes(raw), b"TEST"), Shape)
    except FlatbufferError as error:
        assert str(error)


@dataclass
class _Level:
    below: list[_Level]


class _WrittenOnce(Table):
    """Writes a value that occurs often without walking through all of its occurrences."""

    def write(self, writer: Writer, value: _Level) -> int:
        positions = self.__dict__.setdefault("positions", {})
        if id(value) not in positions:
            positions[id(value)] = super().write(writer, value)
        return positions[id(value)]


def test_references_to_the_same_data_again_and_again_are_refused() -> None:
    """A small file can describe exponentially many tables; the reader gives up instead of filling memory."""
    table: Table = _WrittenOnce(_Level, below=Vector(INT))
    value = _Level([])
    for _ in range(6):
        table = _WrittenOnce(_Level, below=Vector(table))
        value = _Level([value] * 40)
    data = write_root(table, value, b"TEST").data
    assert len(data) < 2000
    with pytest.raises(FlatbufferError, match="again and again"):
        read_root(table, data, b"TEST")


def test_unsigned_fields_refuse_negative_numbers() -> None:
    table = Table(_Number, value=UINT)
    with pytest.raises(FlatbufferError, match="range"):
        write_root(table, _Number(-1), b"TEST")
