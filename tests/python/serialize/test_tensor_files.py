# SPDX-License-Identifier: BSD-3-Clause
"""Named data and .ptd files."""

from __future__ import annotations

import io

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sdk.exir._serialize._cord import Cord
from sdk.exir._serialize._flatbuffer import FlatbufferError
from sdk.exir._serialize._named_data_store import NamedDataStore
from sdk.exir._serialize.data_serializer import DataEntry, DataPayload
from sdk.exir._serialize.padding import aligned_size
from sdk.exir.scalar_type import ScalarType
from sdk.exir.tensor_layout import TensorLayout
from sdk.extension.flat_tensor.serialize.serialize import FlatTensorConfig, FlatTensorHeader, FlatTensorSerializer

LAYOUT = TensorLayout(ScalarType.FLOAT, [2], [0])
PAYLOAD = DataPayload(
    [b"12345678", b"zz", b"not referred to"],
    {"a": DataEntry(0, 16, LAYOUT), "b": DataEntry(1, 48, None), "c": DataEntry(0, 1, LAYOUT)},
)


def test_cord_is_the_concatenation_of_its_pieces() -> None:
    cord = Cord(b"ab")
    cord.append(Cord(b"cd"))
    cord.append(b"")
    cord.pad_to(6)
    out = io.BytesIO()
    cord.write_to_file(out)
    assert bytes(cord) == out.getvalue() == b"abcd\0\0"
    assert len(cord) == 6
    with pytest.raises(TypeError, match="str"):
        cord.append("text")  # type: ignore[arg-type]


def test_flat_tensor_layout() -> None:
    data = bytes(FlatTensorSerializer(FlatTensorConfig(segment_alignment=256)).serialize(PAYLOAD))
    header = FlatTensorHeader.from_bytes(data[8:48])
    assert data[4:12] == b"FT01FH01"
    assert header.flatbuffer_offset == 48
    assert header.segment_base_offset == aligned_size(48 + header.flatbuffer_size, 256)
    assert header.segment_base_offset + header.segment_data_size == len(data)
    assert data[header.segment_base_offset :].startswith(b"12345678")
    assert data.endswith(b"zz")
    assert (len(data) - 2 - header.segment_base_offset) % 768 == 0  # lcm of 256 and 48
    assert b"not referred to" not in data


def test_an_alignment_of_zero_is_none() -> None:
    """The original's entries have such an alignment. A buffer that another entry aligns keeps that alignment."""
    aligned = DataPayload(
        PAYLOAD.buffers, {**PAYLOAD.named_data, "a": DataEntry(0, 0, LAYOUT), "d": DataEntry(1, 0, None)}
    )
    serializer = FlatTensorSerializer(FlatTensorConfig(segment_alignment=16))
    data = bytes(serializer.serialize(aligned))
    header = FlatTensorHeader.from_bytes(data[8:48])
    assert data[header.segment_base_offset + 48 :] == b"zz"
    assert set(serializer.deserialize(Cord(data)).named_data) == {"a", "b", "c", "d"}


def test_a_layout_that_is_not_the_tensors_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the tensor of 'key' has the layout .*, tensor_layout says"):
        NamedDataStore().add_named_data("key", torch.ones(2, 2), tensor_layout=LAYOUT)


def test_flat_tensor_round_trip() -> None:
    serializer = FlatTensorSerializer()
    back = serializer.deserialize(serializer.serialize(PAYLOAD))
    assert back.buffers == [b"12345678", b"zz"]
    assert back.named_data == {"a": DataEntry(0, 1, LAYOUT), "b": DataEntry(1, 1, None), "c": DataEntry(0, 1, LAYOUT)}
    store = serializer.deserialize_to_named_data_store_output(bytes(serializer.serialize(PAYLOAD)), "weights")
    assert store.pte_data == {}
    assert list(store.external_data) == ["weights"]


FILE = bytes(FlatTensorSerializer().serialize(PAYLOAD))


def test_a_newer_schema_is_refused_by_field_and_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdk.exir._serialize._flat_tensor._FLAT_TENSOR_VERSION", 1)
    data = bytes(FlatTensorSerializer().serialize(PAYLOAD))
    with pytest.raises(FlatbufferError, match=r"newer release: the field FlatTensor.version is 1, .* reads up to 0"):
        FlatTensorSerializer().deserialize(Cord(data))


@given(st.integers(0, len(FILE) - 1))
def test_truncated_tensor_files_are_refused(size: int) -> None:
    with pytest.raises(FlatbufferError):
        FlatTensorSerializer().deserialize(Cord(FILE[:size]))


@given(st.lists(st.tuples(st.integers(0, len(FILE) - 1), st.integers(0, 7)), min_size=1, max_size=4))
def test_bit_flips_in_tensor_files_give_an_error_or_data(flips: list[tuple[int, int]]) -> None:
    data = bytearray(FILE)
    for byte, bit in flips:
        data[byte] ^= 1 << bit
    try:
        assert isinstance(FlatTensorSerializer().deserialize(Cord(bytes(data))), DataPayload)
    except FlatbufferError as error:
        assert str(error)


def test_store_keeps_equal_data_once_and_keys_unique() -> None:
    store = NamedDataStore()
    store.add_named_data("k", b"1234", alignment=16)
    store.add_named_data("k", b"1234", alignment=48)
    store.add_named_data("same", b"1234", external_tag="file")
    store.add_named_data("t", torch.arange(3.0))
    with pytest.raises(ValueError, match="'k' is already used for other data"):
        store.add_named_data("k", b"5")
    with pytest.raises(ValueError, match="alignment"):
        store.add_named_data("z", b"5", alignment=0)
    output = store.get_named_data_store_output()
    assert output.buffers == [b"1234", torch.arange(3.0).numpy().tobytes()]
    assert output.pte_data == {
        "k": DataEntry(0, 48, None),
        "t": DataEntry(1, 1, TensorLayout(ScalarType.FLOAT, [3], [0])),
    }
    assert output.external_data == {"file": {"same": DataEntry(0, 1, None)}}
    other = NamedDataStore()
    other.add_named_data("k", b"1234")
    other.add_named_data("n", b"new")
    other.merge_named_data_store(output)
    assert set(other.get_named_data_store_output().pte_data) == {"k", "n", "t"}


def test_channels_last_tensors_are_stored_in_their_memory_order() -> None:
    store = NamedDataStore()
    tensor = torch.arange(24.0).reshape(1, 2, 3, 4)
    store.add_named_data("x", tensor.to(memory_format=torch.channels_last))
    output = store.get_named_data_store_output()
    assert output.buffers[0] == tensor.permute(0, 2, 3, 1).contiguous().numpy().tobytes()
    assert output.pte_data["x"].tensor_layout.dim_order == [0, 2, 3, 1]
