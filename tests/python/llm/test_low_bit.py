# SPDX-License-Identifier: BSD-3-Clause
"""Packed weights of 1 to 8 bits. Expected values are those of the blocks' and torchao's own definitions."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from language_models import small
from torch import Tensor, nn
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.quant_api import (
    Int8DynamicActivationIntxWeightConfig,
    IntxWeightOnlyConfig,
    MappingType,
    quantize_,
)

from sdk.exir import to_edge_transform_and_lower
from sdk.extension.llm.custom_ops import low_bit  # noqa: F401, registers the operators
from sdk.extension.llm.custom_ops.packed import LowBitMatrix, pack, unpack
from sdk.extension.llm.export.gguf import ExportableGGUFTensor
from sdk.extension.llm.export.gguf._blocks import FORMATS
from sdk.extension.llm.export.low_bit import PackedEmbedding, PackedLinear, matrix_of, pack_linear
from sdk.runtime import Runtime

BITS = range(1, 9)


def blocks(type: str, rows: int, columns: int, seed: int = 0) -> ExportableGGUFTensor:
    """Random blocks of a GGUF type with scales that are not NaN."""
    format = FORMATS[type]
    generator = torch.Generator().manual_seed(seed)
    raw = torch.randint(0, 256, (rows, columns // format.weights, format.bytes), dtype=torch.uint8, generator=generator)
    halves = {"q4_1": [0, 2], "q5_1": [0, 2], "q4_k": [0, 2], "q5_k": [0, 2], "q6_k": [208]}.get(type, [0])
    for offset in halves:
        scales = torch.rand(rows, columns // format.weights, 1, generator=generator).half() * 0.01 + 0.001
        raw[..., offset : offset + 2] = scales.view(torch.uint8)
    return ExportableGGUFTensor.from_raw(raw.reshape(rows, -1), type, torch.float32)


def matrix(bits: int, rows: int, columns: int, group: int, minima: bool = False, row: bool = False) -> LowBitMatrix:
    generator = torch.Generator().manual_seed(bits)
    q = torch.randint(0, 1 << bits, (rows, columns), dtype=torch.uint8, generator=generator)
    scale, minimum = (torch.rand(rows, -(-columns // group), generator=generator) for _ in range(2))
    return LowBitMatrix(q, scale, minimum if minima else None, 0 if minima else 1 << bits - 1, bits, group, row)


def run(module: nn.Module, *inputs: Tensor) -> Any:
    program = to_edge_transform_and_lower(torch.export.export(module, inputs)).to_executorch()
    return Runtime.get().load_program(program.buffer).load_method("forward").execute(list(inputs))[0]


@pytest.mark.parametrize("group", [4, 8, 16, 24, 32, 64, 256, 512, 600])
@pytest.mark.parametrize("bits", BITS)
def test_packing_keeps_every_weight(bits: int, group: int):
    """LE-12: any group that is a multiple of 4, and one scale a row."""
    for rows, columns, minima, row in ((1, 600, False, False), (16, 1024, True, False), (33, 600, True, True)):
        m = matrix(bits, rows, columns, group, minima, row)
        found = unpack(pack(m))
        assert torch.equal(found.q, m.q) and torch.equal(found.dequantize(), m.dequantize())
        assert found.row_activations == row


def test_a_group_of_six_is_refused():
    with pytest.raises(ValueError, match="groups of 6 weights cannot be packed; expected a multiple of 4"):
        pack(matrix(4, 3, 12, 6))
    with pytest.raises(ValueError, match="no packed weights"):
        unpack(torch.zeros(80, dtype=torch.uint8))


@pytest.mark.parametrize("type", FORMATS)
def test_gguf_blocks_are_taken_over_exactly(type: str):
    """QNT-07, LE-11: no weight changes, and the usual types do not grow."""
    weight = blocks(type, 48, 512)
    m = matrix_of(weight)
    packed = pack(m)
    assert torch.equal(unpack(packed).dequantize(), weight.dequantize())
    if type in ("q4_0", "q4_1", "q5_0", "q5_1", "q8_0"):
        # The fifth bits of Q5 are packed like the others, so that all of these have as many bytes as in the file.
        assert packed.numel() == weight.raw.numel() + 64
    linear, table = PackedLinear(m, None, packed, True), PackedEmbedding(m, packed)
    indices = torch.tensor([[0, 47], [16, 15]])
    assert torch.equal(run(table, indices), weight.dequantize()[indices])
    x = torch.randn(3, 512)
    torch.testing.assert_close(run(linear, x), x @ weight.dequantize().t(), rtol=1e-4, atol=1e-4)
    eight = run(PackedLinear(m, None, packed, False), x)
    assert torch.nn.functional.cosine_similarity(eight, x @ weight.dequantize().t()).min() > 0.9998


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("group", [0, 8, 32])
def test_layers_of_torchao_compute_what_they_do_in_eager(bits: int, group: int):
    """LE-11, QNT-07, XNN-11: int8 activations with a scale and a zero point a row, and floats."""
    torch.manual_seed(bits)
    granularity = PerGroup(group) if group else PerAxis(0)
    dtype = getattr(torch, f"int{bits}")
    for float_activations in (False, True):
        model = nn.Sequential(nn.Linear(96, 64), nn.Linear(64, 17, bias=False))
        how: Any = Int8DynamicActivationIntxWeightConfig(weight_dtype=dtype, weight_granularity=granularity)
        if float_activations:
            how = IntxWeightOnlyConfig(weight_dtype=dtype, granularity=granularity, mapping_type=MappingType.ASYMMETRIC)
        quantize_(model, how, lambda m, _: isinstance(m, nn.Linear))
        x = torch.randn(5, 96)
        with torch.no_grad():
            middle, expected = model[0](x), model(x)
            pack_linear(model, float_activations)
            assert all(isinstance(layer, PackedLinear) for layer in model)
            torch.testing.assert_close(run(model[0], x), middle, rtol=1e-5, atol=1e-5)
            torch.testing.assert_close(model(x), run(model, x), rtol=1e-5, atol=1e-5)
            # A number between two integers may round differently after the first layer.
            torch.testing.assert_close(run(model, x), expected, rtol=2e-2, atol=2e-2)


def test_projections_of_one_input_become_one_layer():
    """QNT-07: queries, keys and values, gate and up projection; a layer of another type stays by itself."""
    for types in (("q4_0", "q4_0", "q4_0"), ("q4_0", "q4_0", "q8_0")):
        model = small(attention_qkv_bias=True)
        attention: Any = model.layers[0].attention
        for i, (name, type) in enumerate(zip(("wq", "wk", "wv"), types, strict=True)):
            layer = getattr(attention, name)
            layer.weight = nn.Parameter(blocks(type, *layer.weight.shape, seed=i), requires_grad=False)
            nn.init.normal_(layer.bias)
        tokens = torch.tensor([[5, 17, 80]])
        x = torch.randn(1, 3, 64)
        with torch.no_grad():
            separate = [PackedLinear(m, layer.bias, pack(m), False)(x) for layer in
                        (attention.wq, attention.wk, attention.wv) for m in (matrix_of(layer.weight),)]  # fmt: skip
            pack_linear(model)
            joined = attention._project(x)
            model(tokens)
        assert (attention.wqkv is not None) == (len(set(types)) == 1)
        for one, other in zip(separate, joined, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize(
    "x, packed, message",
    [
        (torch.zeros(2, 8), torch.zeros(64, dtype=torch.uint8), "rows of activations must have 32 elements"),
        (torch.zeros(2, 32).half(), torch.zeros(64, dtype=torch.uint8), "expected float32 activations and uint8"),
    ],
)
def test_what_does_not_fit_is_refused_when_exporting(x: Tensor, packed: Tensor, message: str):
    with pytest.raises(ValueError, match=message):
        torch.ops.llama.linear_packed(x, packed, 32, 4, 32)
