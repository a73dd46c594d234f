# SPDX-License-Identifier: BSD-3-Clause
"""Quantised operators whose integers TOSA stores or computes in another way than PyTorch: weights of four bits, max
pools with a dilation, and remainders."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from arm_lowering import INT, Call, lower
from test_tosa_integers import IMAGE, INT16, MODULES, quantized, steps, uses_floats

from sdk.backends.arm.quantizer import get_symmetric_a16w8_quantization_config, get_symmetric_quantization_config
from sdk.backends.arm.quantizer.arm_quantizer import get_symmetric_a8w4_quantization_config
from sdk.backends.arm.tosa.integer.parameters import Parameters, parameters_of
from sdk.backends.arm.tosa.schema import DType

INT4 = "TOSA-1.0+INT+int4"


@pytest.mark.sampled
@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("name", MODULES)
def test_weights_of_four_bits(name: str, per_channel: bool) -> None:
    """VGF-04: `get_symmetric_a8w4_quantization_config` gives int4 constants of half a byte, with TOSA's extension."""
    torch.manual_seed(0)
    model, shape = MODULES[name]
    inputs = (torch.randn(shape),)
    config = get_symmetric_a8w4_quantization_config(is_per_channel=per_channel, is_qat=False)
    converted = quantized(model, inputs, config, INT4)
    lowered = lower(converted, inputs, INT4)
    assert len(lowered.payloads) == 1 and not uses_floats(lowered), lowered.left()
    constants = [each for each in lowered.files[0].regions[0].blocks[0].tensors if each.data is not None]
    weights = [each for each in constants if each.type == DType.INT4 and len(each.shape) > 1]
    assert weights and all(len(each.data) == (math.prod(each.shape) + 1) // 2 for each in weights)
    assert not [each for each in constants if each.type == DType.INT8 and len(each.shape) > 1]
    assert steps(lowered, converted, inputs) <= 1


DILATED: dict[str, tuple[Any, ...]] = {
    "square": (3, 1, 1, 2),
    "in one dimension": (3, (3, 1), 1, (1, 2)),
    "with strides": (4, (2, 3), 2, (2, 3)),
    "almost as wide as the image": (2, 1, 1, 9),
    "with a window beyond the end": (3, 2, 1, 2, True),
}
"""The arguments of max pools: the kernel, the stride, the padding, the dilation and `ceil_mode`."""


@pytest.mark.parametrize("config", [get_symmetric_quantization_config(), get_symmetric_a16w8_quantization_config()])
@pytest.mark.parametrize("name", DILATED)
def test_dilated_max_pools(name: str, config: Any) -> None:
    torch.manual_seed(0)
    inputs = (torch.randn(IMAGE),)
    converted = quantized(Call(lambda x: F.max_pool2d(x, *DILATED[name])), inputs, config, INT16)
    lowered = lower(converted, inputs, INT16)
    assert len(lowered.payloads) == 1 and not uses_floats(lowered), lowered.left()
    assert steps(lowered, converted, inputs) == 0


REMAINDERS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "of tensors": (torch.remainder, (torch.linspace(-9, 9, 96).view(32, 3), torch.linspace(5, 0.1, 96).view(32, 3))),
    "of a number": (lambda x: torch.remainder(x, 0.25), (torch.linspace(-2, 1.7, 24),)),
    "of a negative number": (lambda x: torch.remainder(x, -0.25), (torch.linspace(-1, 2, 12),)),
}


@pytest.mark.parametrize("name", REMAINDERS)
def test_remainders_lose_only_what_their_scales_lose(name: str) -> None:
    """A remainder jumps: a dividend that is rounded across a multiple of the divisor gives another result. The results
    are those of eager for the rounded operands, rounded to the scale of the result."""
    function, inputs = REMAINDERS[name]
    converted = quantized(Call(function), inputs, get_symmetric_quantization_config(), INT)
    lowered = lower(converted, inputs, INT)
    assert len(lowered.payloads) == 1 and not uses_floats(lowered), lowered.left()
    *operands, result = (parameters_of(node) for node in converted.graph.nodes if _quantizes(node))
    (found,) = lowered.run(*inputs)
    expected = _rounded(result, function(*map(_rounded, operands, inputs)))
    assert float((found - expected).abs().max()) <= 1.01 * result.scale


def _rounded(of: Parameters, x: torch.Tensor) -> torch.Tensor:
    return (torch.from_numpy(of.quantized(x.numpy())) - of.zero_point).float() * of.scale


def _quantizes(node: torch.fx.Node) -> bool:
    return "quantized_decomposed.quantize_per_tensor" in str(node.target)
