# SPDX-License-Identifier: BSD-3-Clause
"""Weights that torchao has quantised stay quantised in Core ML's program."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # registers the operators
from lowering import FP16, FP32, ct, difference, lower
from torchao.prototype.quantization.codebook_coreml import CodebookWeightOnlyConfig
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.quant_api import IntxWeightOnlyConfig, quantize_
from torchao.utils import unwrap_tensor_subclass

from sdk.backends.apple.coreml.compiler import CoreMLBackend

CASES = {
    "int8-channel": (torch.int8, PerAxis(0), ct.target.iOS16),
    "int8-group": (torch.int8, PerGroup(32), ct.target.iOS18),
    "int4-channel": (torch.int4, PerAxis(0), ct.target.iOS18),
    "int4-group": (torch.int4, PerGroup(32), ct.target.iOS18),
}


def _model(dtype: torch.dtype, granularity: Any) -> torch.nn.Module:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64))
    quantize_(model, IntxWeightOnlyConfig(weight_dtype=dtype, granularity=granularity))
    return unwrap_tensor_subclass(model)


@pytest.mark.parametrize("name", CASES)
def test_linear_layers(name: str) -> None:
    """CML-17: int4 and int8 in groups need iOS 18, int8 for each channel needs iOS 16. Without a deployment target,
    the oldest that suffices is chosen."""
    dtype, granularity, target = CASES[name]
    model, x = _model(dtype, granularity), torch.randn(3, 256)
    lowered = lower(model, (x,), FP32)
    assert not lowered.outside, lowered.refusals
    (program,) = lowered.programs.values()
    assert program.model.spec.specificationVersion == target.value
    assert difference(lowered.run(x), model(x)) < 1e-5
    weights = 256 * 256 + 256 * 64
    assert len(program.model.weights) < weights * (0.75 if dtype == torch.int4 else 1.25) + 4096
    assert difference(lower(model, (x,), FP16).run(x), model(x)) < 5e-3


class Language(torch.nn.Module):
    """An embedding and a linear layer with equal numbers of inputs and outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(64, 64)
        self.head = torch.nn.Linear(64, 64)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.embedding(tokens))


def _compressed(config: Any, unwrap: bool) -> tuple[torch.nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    model = Language().eval()
    quantize_(model, config, lambda module, _: isinstance(module, (torch.nn.Linear, torch.nn.Embedding)))
    return unwrap_tensor_subclass(model) if unwrap else model, torch.randint(0, 64, (2, 7))


@pytest.mark.parametrize("unwrap", [True, False], ids=["unwrapped", "subclasses"])
@pytest.mark.parametrize("name", CASES)
def test_embeddings(name: str, unwrap: bool) -> None:
    """CML-16, CML-17: tables of embeddings stay quantised, too, whether or not the weights are tensor subclasses."""
    dtype, granularity, target = CASES[name]
    model, tokens = _compressed(IntxWeightOnlyConfig(weight_dtype=dtype, granularity=granularity), unwrap)
    lowered = lower(model, (tokens,), FP32)
    assert not lowered.outside, lowered.refusals
    (program,) = lowered.programs.values()
    assert program.model.spec.specificationVersion == target.value
    assert sum(count for name, count in lowered.operations.items() if name.startswith("constexpr")) == 2
    assert difference(lowered.run(tokens), model(tokens)) < 1e-5


@pytest.mark.parametrize(
    ("bits", "block"),
    [*((bits, [16, -1]) for bits in range(1, 9)), (2, [-1, 16]), (5, [-1, 16]), (3, [-1, -1])],
)
def test_codebooks(bits: int, block: list[int]) -> None:
    """CML-16, CML-17, QNT-09: codebooks of 1 to 8 bits for groups of rows or columns. Core ML has no indices of 5 and 7
    bits, so these become wider. They need iOS 18."""
    model, tokens = _compressed(CodebookWeightOnlyConfig(dtype=getattr(torch, f"uint{bits}"), block_size=block), False)
    lowered = lower(model, (tokens,), FP32)
    assert not lowered.outside, lowered.refusals
    (program,) = lowered.programs.values()
    assert program.model.spec.specificationVersion == ct.target.iOS18.value
    assert lowered.operations["constexpr_lut_to_dense"] == 2
    assert difference(lowered.run(tokens), model(tokens)) < 1e-6
    width = {5: 6, 7: 8}.get(bits, bits)
    tables = 1 if block == [-1, -1] else 4
    assert len(program.model.weights) < 2 * (64 * 64 * width // 8 + tables * (1 << width) * 4) + 2048
    if bits in (1, 5):
        assert difference(lower(model, (tokens,), FP16).run(tokens), model(tokens)) < 5e-3


def test_codebooks_for_an_old_target() -> None:
    """CML-17: below iOS 18, operators with codebooks stay outside, and the error names the reason."""
    model, tokens = _compressed(CodebookWeightOnlyConfig(dtype=torch.uint3, block_size=[16, -1]), False)
    with pytest.raises(ValueError, match="codebooks need the deployment target iOS18"):
        lower(model, (tokens,), FP32, ct.target.iOS17, lower_full_graph=True)


def test_int4_for_an_old_target() -> None:
    """CML-17: below iOS 18 the program itself dequantises, with the same results."""
    model, x = _model(torch.int4, PerGroup(32)), torch.randn(3, 256)
    lowered = lower(model, (x,), FP32, ct.target.iOS17)
    assert not any(name.startswith("constexpr") for name in lowered.operations)
    assert difference(lowered.run(x), model(x)) < 1e-5


def test_weights_that_coremltools_quantises() -> None:
    """CML-06: `op_linear_quantizer_config` quantises after the conversion."""
    model, x = torch.nn.Linear(256, 256).eval(), torch.randn(3, 256)
    config = {"mode": "linear_symmetric", "dtype": "int8", "granularity": "per_channel"}
    specs = [CoreMLBackend.generate_op_linear_quantizer_config_compile_spec(config)]
    lowered = lower(model, (x,), FP32, specs=specs)
    (program,) = lowered.programs.values()
    assert len(program.model.weights) < 256 * 256 * 1.25 + 4096
    assert "constexpr_affine_dequantize" in lowered.operations
    assert difference(lowered.run(x), model(x)) < 2e-2


Parameters = tuple[float, int, torch.dtype]
"""A scale, a zero point and the type of the integers."""
_q = torch.ops.quantized_decomposed
UINT8: Parameters = (0.0625, 128, torch.uint8)


class Requantized(torch.nn.Module):
    """Quantises before and after a reshape, or twice in a row."""

    def __init__(self, before: Parameters, after: Parameters, reshapes: bool) -> None:
        super().__init__()
        self.before, self.after, self.reshapes = before, after, reshapes

    def _rounded(self, x: torch.Tensor, parameters: Parameters) -> torch.Tensor:
        scale, zero_point, dtype = parameters
        bounds = torch.iinfo(dtype)
        integers = _q.quantize_per_tensor.default(x, scale, zero_point, bounds.min, bounds.max, dtype)
        return _q.dequantize_per_tensor.default(integers, scale, zero_point, bounds.min, bounds.max, dtype)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self._rounded(x, self.before)
        return self._rounded(x.reshape(2, 8) if self.reshapes else x, self.after)


@pytest.mark.parametrize("reshapes", [True, False], ids=["reshape", "in-a-row"])
@pytest.mark.parametrize(
    "after",
    [UINT8, (0.25, 128, torch.uint8), (0.0625, 0, torch.uint8), (0.0625, 0, torch.int8), (0.125, -128, torch.int8)],
    ids=["same", "scale", "zero-point", "type", "all"],
)
def test_quantising_again(after: Parameters, reshapes: bool) -> None:
    """coremltools alone would reshape the integers of the first quantisation and interpret them with the second."""
    model, x = Requantized(UINT8, after, reshapes).eval(), torch.linspace(-9, 9, 16).reshape(4, 4)
    lowered = lower(model, (x,), FP32, ct.target.iOS17)
    assert not lowered.outside, lowered.refusals
    assert difference(lowered.run(x), model(x)) < 1e-6
    if after == UINT8:
        assert lowered.operations["quantize"] == 1


@pytest.mark.parametrize("after", [(0.0625, 0, torch.int8), (0.0625, 0, torch.uint8)], ids=["int8", "uint8"])
def test_quantising_again_saturates(after: Parameters) -> None:
    """Requantising int8 as uint8 with the same scale and zero point saturates negative values to 0."""
    model, x = Requantized((0.0625, 0, torch.int8), after, False).eval(), torch.linspace(-4, 4, 16).reshape(4, 4)
    assert difference(lower(model, (x,), FP32, ct.target.iOS17).run(x), model(x)) < 1e-6
