# SPDX-License-Identifier: BSD-3-Clause
"""GGUF files: block formats against the Python package `gguf` bit by bit, and files that are not valid."""

from __future__ import annotations

import struct
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from sdk.extension.llm.export.gguf import ExportableGGUFTensor, GGUFError, GGUFFile, _max_uniform_group_size, iter_gguf
from sdk.extension.llm.export.gguf._blocks import FORMATS
from sdk.extension.llm.export.int4 import ExportableInt4Tensor

AFFINE_4_BIT = ["q4_0", "q4_1", "q4_k"]
HALVES = {
    "q4_1": [0, 2],
    "q5_1": [0, 2],
    "q2_k": [80, 82],
    "q3_k": [108],
    "q4_k": [0, 2],
    "q5_k": [0, 2],
    "q6_k": [208],
}
HALVES |= {"tq1_0": [52], "tq2_0": [64], "mxfp4": []}
"""Offsets of the float16 numbers in a block, in bytes. A format that is not listed has one, at offset 0."""


def random_raw(name: str, rows: int = 5, blocks: int = 3, seed: int = 0) -> torch.Tensor:
    """Blocks of random bits, in which float16 numbers are finite, because NaN does not compare equal to itself."""
    format = FORMATS[name]
    raw = np.random.default_rng(seed).integers(0, 256, (rows * blocks, format.bytes), dtype=np.uint8)
    for at in HALVES.get(name, [0]):
        raw[:, at + 1] &= 0b10111011  # an exponent below its largest
    return torch.from_numpy(raw.reshape(rows, -1))


def dequantized_by_gguf(raw: torch.Tensor, name: str) -> torch.Tensor:
    return torch.from_numpy(gguf.dequantize(raw.numpy(), gguf.GGMLQuantizationType[name.upper()]))


def error_of(found: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest difference, relative to the largest expected magnitude."""
    return float((found - expected).abs().max() / expected.abs().max())


def write(
    path: Path, tensors: dict[str, tuple[np.ndarray, gguf.GGMLQuantizationType | None]], **metadata: object
) -> Path:
    writer = gguf.GGUFWriter(path, "llama")
    for key, value in metadata.items():
        if isinstance(value, list):
            writer.add_array(key, value)
        elif isinstance(value, str):
            writer.add_string(key, value)
        else:
            writer.add_uint32(key, value)  # type: ignore[arg-type]
    for name, (data, kind) in tensors.items():
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_block_sizes_are_those_of_ggml(name: str):
    kind = gguf.GGMLQuantizationType[name.upper()]
    assert (FORMATS[name].weights, FORMATS[name].bytes) == gguf.GGML_QUANT_SIZES[kind]
    assert FORMATS[name].type_id == kind


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("rows, blocks", [(1, 1), (2, 1), (1, 7), (33, 4)])
def test_dequantized_weights_are_those_of_the_package_gguf(name: str, rows: int, blocks: int):
    raw = random_raw(name, rows, blocks)
    weights = ExportableGGUFTensor.from_raw(raw, name, torch.float32)
    assert weights.shape == (rows, blocks * FORMATS[name].weights)
    assert torch.equal(weights.dequantize(), dequantized_by_gguf(raw, name))


@pytest.mark.parametrize("name", FORMATS)
def test_layers_compute_with_the_dequantized_weights(name: str):
    raw = random_raw(name)
    weights, expected = ExportableGGUFTensor.from_raw(raw, name, torch.float32), dequantized_by_gguf(raw, name)
    x = torch.randn(3, expected.shape[1])
    torch.testing.assert_close(F.linear(x, weights, torch.ones(5)), F.linear(x, expected, torch.ones(5)))
    assert torch.equal(F.embedding(torch.tensor([4, 0]), weights), expected[[4, 0]])
    assert weights.to(torch.float16).dequantize().dtype == torch.float16
    with pytest.raises(TypeError, match="expected a floating-point dtype for quantised weights, found torch"):
        weights.to(torch.int8)


@pytest.mark.parametrize("name", FORMATS)
def test_integers_are_taken_over_to_intx(name: str):
    weights = ExportableGGUFTensor.from_raw(random_raw(name), name)
    taken = weights.to_intx_unpacked_to_int8_tensor(scale_dtype=torch.float32)
    bits = 3 if name.startswith("tq") else 8 if name == "q6_k" else FORMATS[name].bits
    assert taken.target_dtype == getattr(torch, f"int{bits}")
    assert -(1 << bits - 1) <= int(taken.qdata.min()) and int(taken.qdata.max()) < 1 << bits - 1
    assert taken.block_size == (1, FORMATS[name].group)
    expected = dequantized_by_gguf(weights.raw, name)
    error = error_of(taken.dequantize(), expected)
    assert error == 0 if FORMATS[name].decode(weights.raw[:, : FORMATS[name].bytes]).minimum is None else error < 1e-5


@pytest.mark.parametrize("name", AFFINE_4_BIT)
def test_integers_are_taken_over_to_int4(name: str):
    weights = ExportableGGUFTensor.from_raw(random_raw(name), name, torch.float32)
    taken = weights.to_exportable_int4_tensor()
    expected = dequantized_by_gguf(weights.raw, name)
    assert error_of(taken.dequantize(), expected) < 1e-5
    again = ExportableInt4Tensor.from_intx_unpacked_to_int8_tensor(
        weights.to_intx_unpacked_to_int8_tensor(scale_dtype=torch.float32)
    )
    assert torch.equal(again.qdata, taken.qdata)
    torch.testing.assert_close(again.dequantize(torch.float32), taken.dequantize())
    assert taken.to(torch.bfloat16).dequantize().dtype == torch.bfloat16


@pytest.mark.parametrize("name", ["q2_k", "q3_k", "q5_0", "q6_k", "q8_0", "iq4_nl", "tq2_0", "mxfp4"])
def test_other_integers_than_of_4_bits_are_refused(name: str):
    weights = ExportableGGUFTensor.from_raw(random_raw(name), name)
    with pytest.raises(NotImplementedError, match=f"those of {name} have {FORMATS[name].bits}"):
        weights.to_exportable_int4_tensor()
    with pytest.raises(ValueError, match=r"expected 4-bit weights .*int"):
        ExportableInt4Tensor.from_intx_unpacked_to_int8_tensor(weights.to_intx_unpacked_to_int8_tensor())


@pytest.mark.parametrize("name", ["q4_1", "q2_k", "q4_k", "q5_1", "q5_k"])
def test_a_group_whose_scale_is_zero_keeps_its_minimum(name: str):
    raw = random_raw(name)
    raw[:, HALVES[name][0] : HALVES[name][0] + 2] = 0
    expected = dequantized_by_gguf(raw, name)
    assert expected.abs().max() > 0
    weights = ExportableGGUFTensor.from_raw(raw, name, torch.float32)
    assert error_of(weights.to_intx_unpacked_to_int8_tensor(scale_dtype=torch.float32).dequantize(), expected) < 1e-5
    if FORMATS[name].bits == 4:
        assert error_of(weights.to_exportable_int4_tensor().dequantize(), expected) < 1e-5


@pytest.mark.parametrize("most, size", [(32, 32), (64, 64), (200, 128), (4096, 128)])
def test_groups_of_one_scale_become_one(most: int, size: int):
    scale = torch.tensor([[1.0, 1, 1, 1, 2, 2, 2, 2], [3.0, 3, 3, 3, 3, 3, 3, 3]])
    merged, scales, minima = _max_uniform_group_size(scale, scale * 2, 32, most)
    assert merged == size
    assert torch.equal(scales.repeat_interleave(size // 32, 1), scale)
    assert torch.equal(minima, scales * 2)


def test_groups_that_differ_in_their_minima_alone_stay():
    scale = torch.ones(1, 2)
    assert _max_uniform_group_size(scale, torch.tensor([[0.0, 1]]), 32, 256)[0] == 32


def test_merged_groups_have_the_same_weights():
    block = random_raw("q6_k", 1, 1)
    block[:, 192:208] = 7  # one scale for all groups
    weights = ExportableGGUFTensor.from_raw(block.repeat(3, 2), "q6_k")
    taken = weights.to_intx_unpacked_to_int8_tensor(max_group_size=128, scale_dtype=torch.float32)
    assert taken.block_size == (1, 128)
    assert torch.equal(taken.dequantize(), dequantized_by_gguf(weights.raw, "q6_k"))


def test_export_keeps_the_quantized_bytes():
    """The program of `torch.export` calls `dequantize_gguf` on the bytes; nothing is dequantised earlier."""
    raw = random_raw("q4_1", 8, 2)
    linear = torch.nn.Linear(64, 8, bias=False)
    linear.weight = torch.nn.Parameter(ExportableGGUFTensor.from_raw(raw, "q4_1", torch.float32), requires_grad=False)
    x = torch.randn(2, 64)
    program = torch.export.export(linear, (x,)).run_decompositions({})
    targets = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert any("dequantize_gguf" in target for target in targets)
    torch.testing.assert_close(program.module()(x), F.linear(x, dequantized_by_gguf(raw, "q4_1")))


def test_a_file_gives_its_tensors_and_metadata(tmp_path: Path):
    rng = np.random.default_rng(1)
    single, half = rng.random((3, 4), np.float32), rng.random((2, 3, 5)).astype(np.float16)
    raw = {name: random_raw(name, 6).numpy() for name in FORMATS}
    path = write(
        tmp_path / "model.gguf",
        {
            "single": (single, None),
            "half": (half, None),
            **{name: (data, gguf.GGMLQuantizationType[name.upper()]) for name, data in raw.items()},
        },
        **{"tokenizer.ggml.tokens": ["a", "é", "日本"], "llama.block_count": 30, "general.name": "tiny"},
    )
    tensors = dict(iter_gguf(path))
    assert list(tensors) == ["single", "half", *FORMATS]
    assert np.array_equal(tensors["single"].numpy(), single)
    assert np.array_equal(tensors["half"].numpy(), half)
    for name, data in raw.items():
        assert isinstance(tensors[name], ExportableGGUFTensor)
        assert np.array_equal(tensors[name].raw.numpy(), data)
        assert tensors[name].shape == (6, 3 * FORMATS[name].weights)
    metadata = GGUFFile(path).metadata
    assert metadata["tokenizer.ggml.tokens"] == ["a", "é", "日本"]
    assert (metadata["llama.block_count"], metadata["general.name"]) == (30, "tiny")


def test_brain_floats_are_read(tmp_path: Path):
    numbers = torch.randn(2, 64).bfloat16()
    data = numbers.view(torch.uint8).numpy()
    path = write(tmp_path / "brain.gguf", {"brain": (data, gguf.GGMLQuantizationType.BF16)})
    ((name, value),) = iter_gguf(path)
    assert (name, value.dtype) == ("brain", torch.bfloat16)
    assert torch.equal(value, numbers)


def test_a_tensor_that_is_written_to_leaves_the_file_as_it_is(tmp_path: Path):
    path = write(tmp_path / "model.gguf", {"x": (np.zeros((2, 2), np.float32), None)})
    before = path.read_bytes()
    GGUFFile(path)["x"].fill_(1)
    assert path.read_bytes() == before


HEADER = b"GGUF" + struct.pack("<IQQ", 3, 0, 0)


def string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def described(name: str, shape: list[int], kind: int, offset: int) -> bytes:
    return string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


def with_tensors(*tensors: bytes, count: int | None = None) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors) if count is None else count, 0) + b"".join(tensors)
    return head + bytes(-len(head) % 32) + bytes(64)


def with_entry(entry: bytes, count: int = 1) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 0, count) + entry


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "is empty"),
        (b"PK\3\4" + bytes(60), r"is not a GGUF file: it begins with b'PK\\x03\\x04'"),
        (b"GGUF\3", "the version takes 4 bytes, but only 1 are left in the file; is it cut off?"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "byte 4: GGUF version 1 is not supported, 2 and 3 are"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
        (with_tensors(count=2**60), "tensors do not fit into a file of"),
        (with_entry(b"", 2**60), "metadata entries do not fit into the 0 bytes that are left"),
        (with_entry(struct.pack("<Q", 2**63) + bytes(20)), "a metadata key takes 9223372036854775808 bytes"),
        (with_entry(struct.pack("<Q", 2) + b"\xff\xfe" + bytes(20)), "a metadata key is not UTF-8"),
        (with_entry(string("k") + struct.pack("<I", 13) + bytes(8)), "the value of 'k' has the type 13"),
        (with_entry(string("k") + struct.pack("<IIQ", 9, 4, 2**62)), "elements of the value of 'k' do not fit"),
        (with_entry(string("k") + struct.pack("<IIQ", 9, 9, 1) * 1 + struct.pack("<IQ", 9, 1) * 12), "nested 8 times"),
        (with_entry((string("k") + struct.pack("<II", 4, 1)) * 2, 2), "the metadata key 'k' is there twice"),
        (with_entry(string("general.alignment") + struct.pack("<II", 4, 3)), "expected a positive multiple of 8"),
        (with_tensors(described("x", [1] * 5, 0, 0)), "'x' has 5 dimensions, expected 1 to 4"),
        (with_tensors(described("x", [4], 99, 0)), "'x' has ggml's type 99, which is not supported; supported are f32"),
        (with_tensors(described("x", [33], 2, 0)), "rows of 33 weights, but blocks of q4_0 have 32"),
        (with_tensors(described("x", [0], 0, 0)), "'x' has no elements"),
        (with_tensors(described("x", [4], 0, 8)), "not a multiple of the alignment, 32"),
        (with_tensors(described("x", [17], 0, 0)), "is it cut off"),
        (with_tensors(described("x", [2**62, 4], 0, 0)), "is it cut off"),
        (with_tensors(described("x", [4], 0, 2**63)), "is it cut off"),
        (with_tensors(*[described("x", [4], 0, 0)] * 2), "the tensor 'x' is there twice"),
    ],
)
def test_a_file_that_is_not_valid_is_an_error_that_says_where(tmp_path: Path, data: bytes, message: str):
    path = tmp_path / "bad.gguf"
    path.write_bytes(data)
    with pytest.raises(GGUFError, match=message):
        GGUFFile(path)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_changed_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject):
    folder = tmp_path_factory.getbasetemp()
    path = folder / "whole.gguf"
    if not path.exists():
        raw = random_raw("q4_k", 2, 1).numpy()
        write(path, {"w": (raw, gguf.GGMLQuantizationType.Q4_K)}, tokens=["a", "b"], count=3)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        content[data.draw(st.integers(0, 300))] = data.draw(st.integers(0, 255))
    changed = folder / "changed.gguf"
    changed.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        for _, value in iter_gguf(changed):
            assert value.numel() > 0
    except GGUFError as error:
        assert str(changed) in str(error)


@pytest.mark.parametrize(
    "raw, name, error, message",
    [
        (torch.zeros(2, 18, dtype=torch.uint8), "iq1_s", NotImplementedError, "'iq1_s' is not supported"),
        (
            torch.zeros(2, 18),
            "q4_0",
            ValueError,
            r"expected uint8 \[rows, bytes of a row\], found torch.float32 \[2, 18\]",
        ),
        (torch.zeros(2, 19, dtype=torch.uint8), "q4_0", ValueError, "rows of 19 bytes"),
    ],
)
def test_bytes_that_are_no_blocks_are_refused(raw: torch.Tensor, name: str, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        ExportableGGUFTensor.from_raw(raw, name)
