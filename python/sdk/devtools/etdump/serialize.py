# SPDX-License-Identifier: BSD-3-Clause
"""Converts ETDumps to the bytes of a `.etdp` and back. Reading never executes anything from the file."""

from __future__ import annotations

from typing import Any

from sdk.devtools.etdump import schema_flatcc as schema
from sdk.exir._serialize._flatbuffer import (
    BOOL,
    DOUBLE,
    INT,
    LONG,
    STRING,
    UINT,
    ULONG,
    Bytes,
    Enum,
    FlatbufferError,
    Reader,
    Scalar,
    Table,
    Vector,
    read_root,
    write_root,
)
from sdk.exir._serialize._flatbuffer_io import U32
from sdk.exir.scalar_type import ScalarType

__all__ = ["ETDUMP_VERSION", "deserialize_from_etdump_flatcc", "read_etdump", "serialize_to_etdump_flatcc"]

ETDUMP_IDENTIFIER = b"ED00"
ETDUMP_VERSION = 0
"""The only version of the format that can be read."""


class _ValueType(Scalar):
    """The number of a `ValueType`, which the dataclasses store as text."""

    names = tuple(member.value for member in schema.ValueType)

    def __init__(self) -> None:
        super().__init__("b", "ValueType", self.names[0])

    def write(self, writer: Any, value: Any) -> Any:
        number = self.names.index(value.value if isinstance(value, schema.ValueType) else value)
        return number or None

    def read(self, reader: Reader, offset: int, what: str) -> Any:
        number = super().read(reader, offset, what)
        if not 0 <= number < len(self.names):
            raise reader.error(what, offset, f"is {number}, which is not the number of a ValueType")
        return self.names[number]


_UNSET = Scalar("i", "int32", -1)
_BOOL_TABLE = Table(schema.Bool, bool_val=BOOL)
_TENSOR = Table(schema.Tensor, scalar_type=Enum(ScalarType), sizes=Vector(LONG), strides=Vector(LONG), offset=LONG)
_VALUE = Table(
    schema.Value,
    val=_ValueType(),
    tensor=_TENSOR,
    tensor_list=Table(schema.TensorList, tensors=Vector(_TENSOR)),
    int_value=Table(schema.Int, int_val=LONG),
    float_value=Table(schema.Float, float_val=Scalar("f", "float32", 0.0)),
    double_value=Table(schema.Double, double_val=DOUBLE),
    bool_value=_BOOL_TABLE,
    output=_BOOL_TABLE,
)
_DEBUG_EVENT = Table(
    schema.DebugEvent,
    chain_index=ULONG,
    instruction_id=_UNSET,
    debug_entry=_VALUE,
    delegate_debug_id_int=_UNSET,
    delegate_debug_id_str=STRING,
    name=STRING,
)
_ALLOCATION_EVENT = Table(schema.AllocationEvent, allocator_id=INT, allocation_size=ULONG)
_PROFILE_EVENT = Table(
    schema.ProfileEvent,
    name=STRING,
    chain_index=INT,
    instruction_id=_UNSET,
    delegate_debug_id_int=_UNSET,
    delegate_debug_id_str=STRING,
    delegate_debug_metadata=Bytes(),
    start_time=ULONG,
    end_time=ULONG,
)
_EVENT = Table(
    schema.Event,
    profile_event=_PROFILE_EVENT,
    allocation_event=_ALLOCATION_EVENT,
    debug_event=_DEBUG_EVENT,
)
_RUN_DATA = Table(
    schema.RunData,
    name=STRING,
    bundled_input_index=_UNSET,
    allocators=Vector(Table(schema.Allocator, name=STRING)),
    events=Vector(_EVENT),
    inputs_digest=ULONG,
)
_ETDUMP = Table(schema.ETDumpFlatCC, version=UINT, run_data=Vector(_RUN_DATA))


def serialize_to_etdump_flatcc(etdump: schema.ETDumpFlatCC) -> bytes:
    """The flatbuffer of an ETDump, without the size that the runtime writes before it."""
    return write_root(_ETDUMP, etdump, ETDUMP_IDENTIFIER).data


def deserialize_from_etdump_flatcc(data: bytes, size_prefixed: bool = True) -> schema.ETDumpFlatCC:
    """The content of an ETDump, as the dataclasses of the schema.

    Args:
        data: The bytes of a `.etdp`.
        size_prefixed: Whether the flatbuffer comes after its size, as the runtime writes it.

    Raises:
        FlatbufferError: The bytes are not an ETDump, are cut off, or are of another version; a ValueError.
    """
    if size_prefixed:
        if len(data) < 12:
            raise FlatbufferError(
                f"expected an ETDump, found only {len(data)} bytes: the file is cut off; write or copy it again"
            )
        (size,) = U32.unpack_from(data)
        if data[8:12] != ETDUMP_IDENTIFIER:
            raise FlatbufferError(
                f"expected the identifier {ETDUMP_IDENTIFIER!r} of an ETDump at byte 8, found {bytes(data[8:12])!r}: "
                "pass the file that the runtime wrote as its ETDump (.etdp)"
            )
        if size > len(data) - 4:
            raise FlatbufferError(
                f"expected an ETDump of {size + 4} bytes, found {len(data)}: the file is cut off; copy it again"
            )
        content: schema.ETDumpFlatCC = read_root(_ETDUMP, memoryview(data)[4 : 4 + size], ETDUMP_IDENTIFIER)
    else:
        content = read_root(_ETDUMP, data, ETDUMP_IDENTIFIER)
    if content.version != ETDUMP_VERSION:
        raise FlatbufferError(
            f"expected an ETDump of version {ETDUMP_VERSION}, found version {content.version}: it was written by "
            "another version of the runtime; use the Inspector of that version"
        )
    return content


def read_etdump(data: bytes) -> schema.ETDumpFlatCC:
    """The content of an ETDump with or without a size before the flatbuffer. Raises as deserialize_from_etdump_flatcc
    does."""
    has_size = data[4:8] != ETDUMP_IDENTIFIER
    return deserialize_from_etdump_flatcc(data, size_prefixed=has_size)
