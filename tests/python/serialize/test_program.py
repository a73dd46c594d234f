# SPDX-License-Identifier: BSD-3-Clause
"""The .pte container: header, segments and alignment; programs of the corpus are read and written again."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sdk.exir._serialize import _PTEFile
from sdk.exir._serialize._flatbuffer import FlatbufferError
from sdk.exir._serialize._flatbuffer_program import _flatbuffer_to_program, _program_to_flatbuffer
from sdk.exir._serialize._named_data_store import NamedDataStore
from sdk.exir._serialize._program import (
    PTEFile,
    _ExtendedHeader,
    _extract_delegate_payload,
    _get_extended_header,
    _program_to_json,
    deserialize_pte_binary,
    serialize_pte_binary,
)
from sdk.exir.schema import (
    BackendDelegate,
    BackendDelegateDataReference,
    BackendDelegateInlineData,
    Buffer,
    Chain,
    ContainerMetadata,
    DataLocation,
    Double,
    EValue,
    ExecutionPlan,
    Program,
    SubsegmentOffsets,
)

CORPUS = sorted((Path(__file__).parents[2] / "data" / "corpus").glob("*/model.pte"))


def make_program(constants: list[bytes] = (), delegates: list[bytes] = ()) -> Program:  # type: ignore[assignment]
    plan = ExecutionPlan(
        name="forward",
        container_meta_type=ContainerMetadata("in", "out"),
        values=[EValue(Double(1.5))],
        inputs=[],
        outputs=[0],
        chains=[Chain([], [], [], None)],
        operators=[],
        delegates=[
            BackendDelegate("Backend", BackendDelegateDataReference(DataLocation.INLINE, i), [])
            for i in range(len(delegates))
        ],
        non_const_buffer_sizes=[0, 64],
    )
    return Program(
        version=0,
        execution_plan=[plan],
        constant_buffer=[Buffer(b"")] + [Buffer(data) for data in constants],
        backend_delegate_data=[BackendDelegateInlineData(data) for data in delegates],
        segments=[],
        constant_segment=SubsegmentOffsets(0, []),
        named_data=[],
    )


def stored(data: bytes) -> Program:
    """Returns the program as the file stores it."""
    header = _get_extended_header(data)
    return _flatbuffer_to_program(data[: header.program_size] if header else data)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.parent.name)
def test_programs_of_the_corpus_survive_a_round_trip(path: Path) -> None:
    original = deserialize_pte_binary(path.read_bytes())
    for extract in (False, True):
        data = bytes(serialize_pte_binary(original, extract_delegate_segments=extract))
        assert deserialize_pte_binary(data) == original
    assert len(data) <= len(path.read_bytes())


def test_the_corpus_is_there() -> None:
    assert len(CORPUS) > 40


@given(
    constants=st.lists(st.binary(min_size=1, max_size=300), max_size=4),
    state=st.lists(st.binary(min_size=1, max_size=50), max_size=3),
    delegates=st.lists(st.binary(min_size=1, max_size=300), max_size=3, unique=True),
    named=st.dictionaries(st.text(min_size=1, max_size=8), st.binary(min_size=1, max_size=99), max_size=3),
    extract=st.booleans(),
    segment_alignment=st.sampled_from([16, 128, 4096]),
    constant_alignment=st.sampled_from([None, 16, 64]),
    delegate_alignment=st.sampled_from([None, 16, 1024]),
)
@settings(deadline=None)
def test_layout(constants, state, delegates, named, extract, segment_alignment, constant_alignment, delegate_alignment):
    """Every rule of the layout holds for any content, and reading gives the content back."""
    store = NamedDataStore()
    for key, value in named.items():
        store.add_named_data(key, value, alignment=48)
    file = PTEFile(
        make_program(constants, delegates),
        mutable_data=[Buffer(b"")] + [Buffer(data) for data in state] if state else None,
        named_data=store.get_named_data_store_output() if named else None,
    )
    data = bytes(
        serialize_pte_binary(
            file,
            extract_delegate_segments=extract,
            segment_alignment=segment_alignment,
            constant_tensor_alignment=constant_alignment,
            delegate_alignment=delegate_alignment,
        )
    )
    assert data[4:8] == b"ET12"
    program = stored(data)
    header = _get_extended_header(data)
    has_segments = bool(constants or state or named or (extract and delegates))
    assert (header is not None) == has_segments
    if header:
        assert header.program_size <= header.segment_base_offset
        assert header.segment_base_offset % segment_alignment == 0
        assert header.segment_base_offset + header.segment_data_size == len(data)
        assert not any(data[header.program_size : header.segment_base_offset])
        for segment in program.segments:
            if segment.size:
                assert segment.offset % segment_alignment == 0
        for entry in program.named_data:
            assert program.segments[entry.segment_index].offset % 48 == 0
    for offset, constant in zip(program.constant_segment.offsets[1:], constants, strict=True):
        assert offset % (constant_alignment or 16) == 0
        start = header.segment_base_offset + program.segments[program.constant_segment.segment_index].offset + offset
        assert data[start : start + len(constant)] == constant
    if not extract:
        for payload in delegates:
            assert any(data[at : at + len(payload)] == payload for at in range(0, len(data), delegate_alignment or 16))
    back = deserialize_pte_binary(data)
    assert [delegate.data for delegate in back.program.backend_delegate_data] == delegates
    assert [buffer.storage for buffer in back.mutable_data or []][1:] == state
    if named:
        output = back.named_data
        assert {key: output.buffers[entry.buffer_index] for key, entry in output.pte_data.items()} == named


def test_header_is_padded_to_the_delegate_alignment() -> None:
    file = PTEFile(make_program([b"c" * 20]))
    plain, padded = (bytes(serialize_pte_binary(file, delegate_alignment=a)) for a in (None, 1024))
    roots = [struct.unpack_from("<I", data)[0] for data in (plain, padded)]
    assert plain[8:12] == padded[8:12] == b"eh00"
    assert plain[12:16] == padded[12:16] == struct.pack("<I", 32)
    assert roots[1] > 1024 > roots[0]


def test_equal_delegates_share_a_segment() -> None:
    """ETPM-14: the payload is bit-identical, and stored once."""
    file = PTEFile(make_program(delegates=[b"same" * 9, b"same" * 9, b"other"]))
    data = bytes(serialize_pte_binary(file, extract_delegate_segments=True))
    processed = [delegate.processed for delegate in stored(data).execution_plan[0].delegates]
    assert [p.location for p in processed] == [DataLocation.SEGMENT] * 3
    assert processed[0].index == processed[1].index != processed[2].index
    assert _extract_delegate_payload(data, "Backend", 1) == b"same" * 9
    assert _extract_delegate_payload(data, "Backend", 2) == b"other"
    assert _extract_delegate_payload(data, "Missing") is None


def test_delegate_data_that_nothing_refers_to() -> None:
    """ETPM-14: moving payloads to segments would lose data that no delegate refers to, so it is an error."""
    program = make_program(delegates=[b"used"])
    program.backend_delegate_data += [BackendDelegateInlineData(b"more"), BackendDelegateInlineData(b"")]
    with pytest.raises(ValueError, match="no delegate refers to delegate data 1, 2, which the file would lose"):
        serialize_pte_binary(PTEFile(program), extract_delegate_segments=True)
    inline = bytes(serialize_pte_binary(PTEFile(program)))
    assert deserialize_pte_binary(inline).program.backend_delegate_data == program.backend_delegate_data


def test_empty_payloads_stay_inline() -> None:
    """ETPM-14: a segment has at least one byte, as in the original's files."""
    program = make_program(delegates=[b"", b"payload", b""])
    data = bytes(serialize_pte_binary(PTEFile(program), extract_delegate_segments=True))
    written = stored(data)
    assert [segment.size for segment in written.segments if segment.size] == [7]
    places = [delegate.processed.location for delegate in written.execution_plan[0].delegates]
    assert places == [DataLocation.INLINE, DataLocation.SEGMENT, DataLocation.INLINE]
    back = deserialize_pte_binary(data).program
    payloads = [back.backend_delegate_data[d.processed.index].data for d in back.execution_plan[0].delegates]
    assert payloads == [b"", b"payload", b""]
    assert [_extract_delegate_payload(data, "Backend", i) for i in range(3)] == payloads


def test_serialising_does_not_change_the_program() -> None:
    file = PTEFile(make_program([b"abc"], [b"xyz"]))
    before = _program_to_json(file.program)
    serialize_pte_binary(file, extract_delegate_segments=True)
    assert _program_to_json(file.program) == before


def test_large_constants_are_not_copied() -> None:
    constant = bytes(1 << 20)
    cord = serialize_pte_binary(PTEFile(make_program([constant])))
    assert any(buffer is constant for buffer in cord._buffers)


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), -0.0, 1e-300])
def test_doubles_keep_their_value(value: float) -> None:
    program = make_program()
    program.execution_plan[0].values = [EValue(Double(value))]
    result = _flatbuffer_to_program(_program_to_flatbuffer(program).data).execution_plan[0].values[0].val
    assert struct.pack("<d", float(result.double_val)) == struct.pack("<d", value)


def test_json_names_union_members() -> None:
    content = json.loads(_program_to_json(make_program()))
    assert content["execution_plan"][0]["values"] == [{"val": {"double_val": 1.5}, "val_type": "Double"}]


@pytest.mark.parametrize(
    "options", [{"segment_alignment": 3}, {"constant_tensor_alignment": 24}, {"delegate_alignment": 100}]
)
def test_alignments_must_be_powers_of_two(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=rf"{next(iter(options))} is \d+; expected a power of two"):
        serialize_pte_binary(PTEFile(make_program()), **options)


def test_header_round_trip() -> None:
    header = _ExtendedHeader(program_size=1, segment_base_offset=2, segment_data_size=3)
    assert _ExtendedHeader.from_bytes(header.to_bytes() + b"tail") == header
    assert not replace(header, magic=b"eh99").is_valid()
    assert not replace(header, length=20).is_valid()
    old = _ExtendedHeader.from_bytes(replace(header, length=24).to_bytes()[:24])
    assert old.is_valid()
    assert old.segment_data_size == 0
    with pytest.raises(ValueError, match="truncated"):
        _ExtendedHeader.from_bytes(b"eh00")


@pytest.mark.parametrize("data", [b"", b"abc", bytes(100), b"\x08\0\0\0ET99" + bytes(60), b"PK\3\4" * 30])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(FlatbufferError):
        deserialize_pte_binary(data)


def test_a_newer_schema_is_refused_by_field_and_release() -> None:
    data = bytes(serialize_pte_binary(_PTEFile(replace(make_program(), version=1))))
    expected = (
        r"newer release: the field Program.version is 1, this SDK \(schema of ExecuTorch 1.5\) reads up to 0; update"
    )
    with pytest.raises(FlatbufferError, match=expected):
        deserialize_pte_binary(data)


FULL = bytes(
    serialize_pte_binary(
        _PTEFile(
            make_program([b"weights" * 5], [b"payload" * 3]),
            mutable_data=[Buffer(b""), Buffer(b"state")],
            named_data=None,
        ),
        extract_delegate_segments=True,
    )
)


@given(st.integers(0, len(FULL) - 1))
def test_truncated_files_are_refused(size: int) -> None:
    with pytest.raises(FlatbufferError):
        deserialize_pte_binary(FULL[:size])


def flipped(*flips: tuple[int, int]) -> bytes:
    data = bytearray(FULL)
    for byte, bit in flips:
        data[byte] ^= 1 << bit
    return bytes(data)


def test_every_single_bit_flip_gives_an_error_or_a_program() -> None:
    for position in range(8 * len(FULL)):
        try:
            assert isinstance(deserialize_pte_binary(flipped(divmod(position, 8))).program, Program)
        except FlatbufferError as error:
            assert str(error)


@given(st.lists(st.tuples(st.integers(0, len(FULL) - 1), st.integers(0, 7)), min_size=1, max_size=5))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_bit_flips_give_an_error_or_a_program(flips: list[tuple[int, int]]) -> None:
    try:
        assert isinstance(deserialize_pte_binary(flipped(*flips)).program, Program)
    except FlatbufferError as error:
        assert str(error)
