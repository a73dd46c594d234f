# SPDX-License-Identifier: BSD-3-Clause
"""Packed weights of 1 to 8 bits. Expected values are those of the blocks' and torchao's own definitions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from language_models import blocks, small
from torch import Tensor, nn
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.quant_api import (
    Int8DynamicActivationIntxWeightConfig,
    IntxWeightOnlyConfig,
    MappingType,
    quantize_,
)

from sdk.exir import to_edge_transform_and_lower
from sdk.extension.llm.custom_ops import low_bit
from sdk.extension.llm.custom_ops.packed import LowBitMatrix, pack, unpack
from sdk.extension.llm.export.gguf._blocks import FORMATS
from sdk.extension.llm.export.quantize.low_bit import PackedEmbedding, PackedLinear, matrix_of, pack_linear
from sdk.runtime import Runtime

BITS = range(1, 9)


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
    """LE-12: the size of a group may be any multiple of 4, or a row may have one scale."""
    for rows, columns, minima, row in ((1, 600, False, False), (16, 1024, True, False), (33, 600, True, True)):
        m = matrix(bits, rows, columns, group, minima, row)
        found = unpack(pack(m))
        assert torch.equal(found.q, m.q) and torch.equal(found.dequantize(), m.dequantize())
        assert found.row_activations == row


@pytest.mark.sampled
@pytest.mark.parametrize("type", ["q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_xs", "tq2_0"])
@pytest.mark.parametrize("rows, columns", [(1, 256), (15, 512), (17, 256), (32, 1280)])
def test_blocks_of_256_multiply_as_their_definition(type: str, rows: int, columns: int):
    """QNT-07: products with int8 activations that have a scale per group, for one and several tokens and for numbers of
    rows around that of a tile."""
    weight = blocks(type, rows, columns, seed=rows)
    m = matrix_of(weight)
    packed, plain = pack(m), weight.dequantize().double()
    assert torch.equal(unpack(packed).dequantize().double(), plain)
    for tokens in (1, 2, 3, 9):
        x = torch.randn(tokens, columns, generator=torch.Generator().manual_seed(tokens))
        # The largest difference of float32 sums, in any order, from float64 sums.
        bound = 1e-6 * (x.double().abs() @ plain.abs().t()).max().item() + 1e-6 * columns**0.5
        exact = run(PackedLinear(m, None, packed, True), x).double()
        torch.testing.assert_close(exact, x.double() @ plain.t(), rtol=0, atol=bound)
        eight = run(PackedLinear(m, None, packed, False), x).double()
        rounded = low_bit.quantized_activations(x, m.group)
        torch.testing.assert_close(eight, rounded @ plain.t(), rtol=0, atol=bound)


def test_8_bits_of_earlier_versions_are_read():
    """Programs of earlier versions store unsigned bytes. They still load, and give the same results."""
    for group, row in ((32, False), (64, True)):
        m = matrix(8, 17, 128, group, False, row)
        new = pack(m)
        assert new[5] & 16
        sums = 4 * 16 if row else 0
        scales = 16 * (4 if new[5] & 4 else 2)
        content = new[64:].clone().view(2, -1)
        content[:, sums:].view(2, 128 // group, -1)[..., scales:] ^= 0x80
        old = torch.cat([new[:64], content.flatten()])
        old[5] ^= 16
        assert torch.equal(unpack(old).dequantize(), m.dequantize())
        for tokens in (1, 2, 9):
            x = torch.randn(tokens, 128, generator=torch.Generator().manual_seed(tokens))
            for floats in (False, True):
                found = [run(PackedLinear(m, None, packed, floats), x) for packed in (old, new)]
                assert torch.equal(*found)
        indices = torch.tensor([0, 16, 5])
        assert torch.equal(run(PackedEmbedding(m, old), indices), m.dequantize()[indices])


@pytest.mark.parametrize("sizes", [(2, 8), (4, 8), (3, 12)])
def test_sizes_that_are_not_those_of_the_packed_weights(sizes: tuple[int, int]):
    """In eager mode the result would be of the weights, and in the exported graph of the arguments."""
    packed, (n, k) = pack(matrix(4, 3, 8, 4)), sizes
    x, calls = torch.ones(2, k), torch.ops.torchao
    for call in (
        lambda: calls._linear_8bit_act_4bit_weight(x, packed, 4, n, k),
        lambda: torch.ops.llama.linear_packed(x, packed, 4, n, k),
        lambda: calls._shared_embedding_4bit(packed, 4, n, k, torch.tensor([0])),
    ):
        with pytest.raises(ValueError, match=rf"expected packed weights of {n} rows and {k} columns, found \[3, 8\]"):
            call()


def test_what_cannot_be_packed_is_refused():
    with pytest.raises(ValueError, match="groups of 6 weights cannot be packed; expected a multiple of 4"):
        pack(matrix(4, 3, 12, 6))
    with pytest.raises(ValueError, match="not packed weights"):
        unpack(torch.zeros(80, dtype=torch.uint8))
    of_blocks = matrix_of(blocks("q4_k", 2, 512))
    assert of_blocks.factors is not None
    with pytest.raises(ValueError, match="16 groups of a row cannot be 3 blocks"):
        pack(replace(of_blocks, factors=of_blocks.factors[:, :1].repeat(1, 3, 1)))
    with pytest.raises(ValueError, match="16 groups of a row cannot be 0 blocks"):
        pack(replace(of_blocks, factors=of_blocks.factors[:, :0]))
    of_512 = replace(of_blocks, group=512, scale=of_blocks.scale[:, :1], minimum=None, factors=of_blocks.factors[:, :1])
    with pytest.raises(ValueError, match="groups of 512 weights with factors cannot be packed; expected at most 256"):
        pack(of_512)


@pytest.mark.parametrize("type", FORMATS)
def test_gguf_blocks_are_taken_over_exactly(type: str):
    """QNT-07, LE-11: no weight changes. The usual types take as many bytes as in the file, some others take more."""
    weight = blocks(type, 48, 512)
    m = matrix_of(weight)
    packed = pack(m)
    assert torch.equal(unpack(packed).dequantize(), weight.dequantize())
    if type in ("q4_0", "q4_1", "q5_0", "q5_1", "q8_0"):
        # The fifth bits of Q5 are packed like the others, so that all of these have as many bytes as in the file.
        assert packed.numel() == weight.raw.numel() + 64
    else:
        # 256 weights take their bits, a byte for each scale and minimum, and the float16 of the block. A file packs the
        # scales and minima of Q4_K and Q5_K in 6 bits.
        # Groups of 16 cannot have weights of 3 bits: the weights of Q3_K take 4 bits.
        size = {"q2_k": 64 + 32 + 4, "q3_k": 128 + 16 + 2, "q4_k": 128 + 16 + 4, "q5_k": 160 + 16 + 4}
        size |= {"q6_k": 192 + 16 + 2, "iq4_nl": 8 * 34, "iq4_xs": 256 + 8 + 2, "tq1_0": 64 + 2, "tq2_0": 64 + 2}
        size |= {"mxfp4": 8 * (20 + 2)}
        assert packed.numel() - 64 == 48 * 2 * size[type]
        assert type not in ("q4_k", "q5_k", "q6_k") or packed.numel() - 64 <= 1.03 * weight.raw.numel()
    linear, table = PackedLinear(m, None, packed, True), PackedEmbedding(m, packed)
    indices = torch.tensor([[0, 47], [16, 15]])
    assert torch.equal(run(table, indices), weight.dequantize()[indices])
    x = torch.randn(3, 512)
    torch.testing.assert_close(run(linear, x), x @ weight.dequantize().t(), rtol=1e-4, atol=1e-4)
    eight = run(PackedLinear(m, None, packed, False), x)
    assert torch.nn.functional.cosine_similarity(eight, x @ weight.dequantize().t()).min() > 0.9998


@pytest.mark.sampled
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("group", [0, 8, 32])
def test_layers_of_torchao_compute_what_they_do_in_eager(bits: int, group: int):
    """LE-11, QNT-07, XNN-11: products with float activations, and with int8 activations that have a scale and a zero
    point per row."""
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
    """QNT-07: the layers for queries, keys and values become one layer, and so do the gate and the up projection. A
    layer with another type of weights is not joined."""
    for types in (("q4_0", "q4_0", "q4_0"), ("q4_0", "q4_0", "q8_0"), ("q5_k", "q5_k", "q5_k")):
        model = small(attention_qkv_bias=True, dim=256 if types[0] == "q5_k" else 64)
        attention: Any = model.layers[0].attention
        for i, (name, type) in enumerate(zip(("wq", "wk", "wv"), types, strict=True)):
            layer = getattr(attention, name)
            layer.weight = nn.Parameter(blocks(type, *layer.weight.shape, seed=i), requires_grad=False)
            nn.init.normal_(layer.bias)
        tokens = torch.tensor([[5, 17, 80]])
        x = torch.randn(1, 3, model.params.dim)
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
