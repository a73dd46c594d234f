# SPDX-License-Identifier: BSD-3-Clause
"""Whole models in integers, beside PT2E's quantised model in eager."""

from __future__ import annotations

import pytest
import torch
from arm_lowering import BOTH, assert_close, lower
from test_tosa_integers import quantized

from sdk.backends.arm.quantizer import get_symmetric_quantization_config
from zoo import CASES


@pytest.mark.parametrize(("name", "tolerance"), [("mobilenet", 1e-6), ("vit", 1e-6), ("resnet", 1e-2), ("unet", 1e-2)])
def test_a_model(name: str, tolerance: float) -> None:
    """VGF-05: MobileNet and the vision transformer are equal; in the others an integer may be a step away."""
    method = CASES[name]().methods["forward"]
    inputs = method.calls[0]
    converted = quantized(method.module, inputs, get_symmetric_quantization_config(), BOTH)
    lowered = lower(converted, inputs, BOTH)
    assert len(lowered.payloads) == 1
    assert all("quantize" in node for node in lowered.left())
    # Each layer's int32 sums become int8 again; what has no integer lowering, such as a softmax, multiplies floats.
    assert lowered.operators["RESCALE"] >= lowered.operators["CONV2D"] + lowered.operators["DEPTHWISE_CONV2D"] > 0
    with torch.no_grad():
        assert_close(lowered.run(*inputs), converted(*inputs), tolerance)
