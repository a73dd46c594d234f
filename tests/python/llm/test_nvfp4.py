# SPDX-License-Identifier: BSD-3-Clause
"""Weights in NVFP4, against the arithmetic of the format."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torchao.quantization import quantize_

from sdk.extension.llm.export.nvfp4 import ExportableNVFP4Config, ExportableNVFP4Tensor, nvfp4_dequantize


def e2m1(code: int) -> float:
    """A sign, two bits of exponent with a bias of 1, one bit of mantissa."""
    exponent, mantissa = code >> 1 & 3, code & 1
    size = mantissa / 2 if exponent == 0 else (1 + mantissa / 2) * 2.0 ** (exponent - 1)
    return -size if code & 8 else size


def e4m3(bits: int) -> float:
    exponent, mantissa = bits >> 3 & 15, bits & 7
    return mantissa / 8 * 2.0**-6 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7)


def test_all_numbers_of_the_format():
    """Each code is tested in each place of a word, with scales that are subnormal, normal and the largest."""
    codes = torch.stack([torch.arange(16).roll(shift) for shift in range(16)])
    words = [
        [sum(int(code) << 4 * place for place, code in enumerate(row[at : at + 8])) for at in (0, 8)] for row in codes
    ]
    qdata = torch.tensor(words, dtype=torch.int64).to(torch.uint32)
    scales = torch.tensor([1, 7, 8, 56, 57, 126, 100, 64, 3, 16, 33, 90, 72, 80, 48, 24], dtype=torch.uint8)[:, None]
    found = nvfp4_dequantize(qdata, scales, torch.tensor(0.25), 16)
    expected = [
        [e2m1(int(code)) * e4m3(int(scale)) * 0.25 for code in row] for row, scale in zip(codes, scales, strict=True)
    ]
    assert torch.equal(found, torch.tensor(expected))


@pytest.mark.parametrize("per_tensor", [True, False])
def test_layers(per_tensor: bool):
    """Each weight is within half a step of the format. The exported program gives eager's results."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Embedding(32, 64), nn.Linear(64, 48))
    weights = [layer.weight.detach().clone() for layer in model]
    quantize_(model, ExportableNVFP4Config(per_tensor), lambda module, _: isinstance(module, nn.Embedding | nn.Linear))
    for layer, before in zip(model, weights, strict=True):
        weight = layer.weight
        assert isinstance(weight, ExportableNVFP4Tensor) and weight.shape == before.shape
        largest = before.reshape(len(before), -1, 16).abs().amax(-1, keepdim=True)
        error = (weight.dequantize() - before).abs().reshape(len(before), -1, 16)
        # Steps are 2 between 4 and 6; the scale is rounded to 3 bits of mantissa.
        assert (error <= largest / 6 * (1 + 1 / 16) + largest / 12).all() and error.max() > 0
        assert (float(weight.per_tensor_scale) == 1) != per_tensor
    tokens = torch.randint(0, 32, (1, 5))
    expected = nn.functional.embedding(tokens, model[0].weight.dequantize()) @ model[1].weight.dequantize().T
    found = model(tokens)
    torch.testing.assert_close(found, expected + model[1].bias)
    exported = torch.export.export(model, (tokens,)).run_decompositions({})
    targets = [node.target for node in exported.graph.nodes]
    assert targets.count(torch.ops.torchao.dequantize_nvfp4.default) == 2
    assert torch.equal(exported.module()(tokens), found)
    assert model[1].weight.to(torch.float16).dtype == torch.float16


def test_matrices_that_are_not_blocks():
    with pytest.raises(RuntimeError, match=r"blocks of 16 x 16, found \[24, 32\]"):
        quantize_(nn.Sequential(nn.Linear(32, 24)), ExportableNVFP4Config())
