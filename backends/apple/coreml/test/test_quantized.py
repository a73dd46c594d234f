# SPDX-License-Identifier: BSD-3-Clause
"""Weights that torchao has quantised stay quantised in Core ML's program."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from lowering import FP16, FP32, ct, difference, lower
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
    """CML-17: int4, and int8 in groups, need iOS 18, int8 for each channel iOS 16; without a target the least is
    chosen."""
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
