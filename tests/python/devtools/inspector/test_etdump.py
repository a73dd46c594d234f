# SPDX-License-Identifier: BSD-3-Clause
"""The reader and the writer of ETDumps."""

from __future__ import annotations

import struct

import dumps
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdk.devtools import Inspector
from sdk.devtools.etdump import schema_flatcc as schema
from sdk.devtools.etdump.serialize import (
    deserialize_from_etdump_flatcc,
    read_etdump,
    serialize_to_etdump_flatcc,
)


def everything() -> schema.ETDumpFlatCC:
    """A dump with each kind of event and value."""
    tensor = schema.Tensor(schema.ScalarType.HALF, [2, 3], [1, 2], 64)
    values = [
        schema.Value("Tensor", tensor=tensor, output=schema.Bool(True)),
        schema.Value("TensorList", tensor_list=schema.TensorList([tensor, tensor])),
        schema.Value("Int", int_value=schema.Int(-(2**40))),
        schema.Value("Float", float_value=schema.Float(0.5)),
        schema.Value("Double", double_value=schema.Double(-0.1)),
        schema.Value("Bool", bool_value=schema.Bool(True)),
        schema.Value("Null"),
    ]
    events = [
        dumps.profile("Method::execute", 2**63, 2**63 + 1),
        dumps.profile(None, 1, 2, 3, 0, b"\x00\xff"),
        dumps.profile(None, 1, 2, 3, "gemm"),
        schema.Event(allocation_event=schema.AllocationEvent(1, 2**40)),
        *(schema.Event(debug_event=schema.DebugEvent("v", 0, i, -1, None, v)) for i, v in enumerate(values)),
    ]
    runs = [schema.RunData("Execute", 2, [schema.Allocator("planned")], events), dumps.run(name="Default")]
    return schema.ETDumpFlatCC(0, runs)


def test_round_trip() -> None:
    content = everything()
    data = serialize_to_etdump_flatcc(content)
    assert deserialize_from_etdump_flatcc(data, size_prefixed=False) == content
    assert deserialize_from_etdump_flatcc(struct.pack("<I", len(data)) + data) == content
    assert read_etdump(data) == read_etdump(struct.pack("<I", len(data)) + data + b"behind it") == content


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "found only 0 bytes: the file is cut off"),
        (b"ET13" * 8, "expected the identifier b'ED00' of an ETDump at byte 8, found b'ET13'"),
        (dumps.three_runs()[:-9], r"expected an ETDump of \d+ bytes, found \d+: the file is cut off"),
        (dumps.dump(dumps.run(), version=1), "expected an ETDump of version 0, found version 1: .* another version"),
    ],
)
def test_bad_files_are_one_line(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        Inspector(etdump_data=data)
    assert "\n" not in str(caught.value)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_files_are_read_or_refused(data: st.DataObject) -> None:
    """The Inspector shows any bytes or raises ValueError."""
    changed = bytearray(dumps.three_runs())
    for _ in range(data.draw(st.integers(1, 8))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(changed)))
    for content in (bytes(changed), bytes(changed[:cut])):
        try:
            inspector = Inspector(etdump_data=content)
        except ValueError as error:
            assert "\n" not in str(error)
        else:
            assert inspector.to_dataframe() is not None


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_other_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError):
        Inspector(etdump_data=content)
