# SPDX-License-Identifier: BSD-3-Clause
"""Converts bundled programs to the bytes of a `.bpte` and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sdk.devtools.bundled_program.schema import bundled_program_schema as schema
from sdk.exir._serialize._flatbuffer import (
    BOOL,
    DOUBLE,
    INT,
    LONG,
    STRING,
    UBYTE,
    UINT,
    Bytes,
    Enum,
    Table,
    Union,
    Vector,
    Writer,
    read_root,
    write_root,
)
from sdk.exir._serialize._flatbuffer_io import U32
from sdk.exir.scalar_type import ScalarType

if TYPE_CHECKING:
    from sdk.devtools.bundled_program.core import BundledProgram

__all__ = ["deserialize_from_flatbuffer_to_bundled_program", "serialize_from_bundled_program_to_flatbuffer"]

BUNDLED_PROGRAM_IDENTIFIER = b"BP08"
DATA_ALIGNMENT = 16
PROGRAM_ALIGNMENT = 32
"""Programs and tensors are read in place."""


class _OwnBytes(Bytes):
    """Bytes that are not shared with equal data, because a program may write to an input in place."""

    def write(self, writer: Writer, value: bytes) -> int:
        return writer.append(value, self.align, U32.pack(len(value)))


_TENSOR = Table(
    schema.Tensor,
    scalar_type=Enum(ScalarType),
    sizes=Vector(INT),
    data=_OwnBytes(DATA_ALIGNMENT),
    dim_order=Vector(UBYTE),
)
_VALUE = Table(
    schema.Value,
    val=Union(
        {
            1: _TENSOR,
            2: Table(schema.Int, int_val=LONG),
            3: Table(schema.Bool, bool_val=BOOL),
            4: Table(schema.Double, double_val=DOUBLE),
        }
    ),
)
_TEST_CASE = Table(schema.BundledMethodTestCase, inputs=Vector(_VALUE), expected_outputs=Vector(_VALUE))
_TEST_SUITE = Table(schema.BundledMethodTestSuite, method_name=STRING, test_cases=Vector(_TEST_CASE))
_BUNDLED_PROGRAM = Table(
    schema.BundledProgram,
    version=UINT,
    method_test_suites=Vector(_TEST_SUITE),
    program=_OwnBytes(PROGRAM_ALIGNMENT),
)


def serialize_from_bundled_program_to_flatbuffer(bundled_program: BundledProgram | schema.BundledProgram) -> bytes:
    """The bytes of a `.bpte`, which the runtime loads.

    Takes a `BundledProgram`, or what `deserialize_from_flatbuffer_to_bundled_program` returned. Raises AssertionError
    if the test cases do not fit the program, `FlatbufferError` (a ValueError) for more than 2 GiB.
    """
    content: Any = bundled_program
    if not isinstance(content, schema.BundledProgram):
        content = content.serialize_to_schema()
    return write_root(_BUNDLED_PROGRAM, content, BUNDLED_PROGRAM_IDENTIFIER, PROGRAM_ALIGNMENT).data


def deserialize_from_flatbuffer_to_bundled_program(flatbuffer: bytes) -> schema.BundledProgram:
    """The content of a `.bpte`, as the dataclasses of the schema.

    Raises `FlatbufferError` (a ValueError) if the bytes are not a bundled program.
    """
    content: schema.BundledProgram = read_root(_BUNDLED_PROGRAM, flatbuffer, BUNDLED_PROGRAM_IDENTIFIER)
    return content
