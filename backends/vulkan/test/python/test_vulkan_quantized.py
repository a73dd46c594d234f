# SPDX-License-Identifier: BSD-3-Clause
"""Models with quantised linear layers give the results of the quantised model in eager PyTorch."""

from __future__ import annotations

import lowered
import pytest
import torch
from torch import nn

pytest.importorskip("torchao")

from torchao.quantization.granularity import PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, IntxWeightOnlyConfig, quantize_
from torchao.utils import unwrap_tensor_subclass

from sdk.backends.vulkan.quantizer.vulkan_quantizer import VulkanQuantizer, get_symmetric_quantization_config


def layers() -> nn.Module:
    return nn.Sequential(nn.Linear(128, 64, bias=False), nn.Linear(64, 32), nn.Linear(32, 16, bias=False)).eval()


INPUTS = (torch.randn(32, 128),)


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_quantizer(is_dynamic: bool) -> None:
    """VK-06, VK-08: int8 weights by PT2E, with a scale for each output."""
    quantizer = VulkanQuantizer()
    quantizer.set_global(get_symmetric_quantization_config(is_dynamic=is_dynamic, weight_bits=8))
    prepared = prepare_pt2e(torch.export.export(layers(), INPUTS).module(), quantizer)
    prepared(*INPUTS)
    model = convert_pt2e(prepared)
    names = {str(node.target) for node in model.graph.nodes}
    assert "quantized_decomposed.dequantize_per_channel.default" in names
    assert ("quantized_decomposed.choose_qparams.tensor" in names) is is_dynamic
    exported = torch.export.export(model, INPUTS)
    program = lowered.lower_program(exported)
    assert not lowered.left(program)
    assert "et_vk.linear_q8csw.default" in lowered.names(program)
    assert ("quantized_decomposed.choose_qparams.tensor" in lowered.names(program)) is is_dynamic
    # Scales are float32 on the GPU and float64 in eager PyTorch, which changes single roundings.
    lowered.check(program, model, INPUTS, tolerance=1e-2 if is_dynamic else 1e-4)


def test_filter() -> None:
    """Only the layers that the filter takes are quantised."""
    quantizer = VulkanQuantizer().set_global(get_symmetric_quantization_config())
    quantizer.set_filter_function(lambda node: node.meta["val"].shape[-1] == 16)
    model = convert_pt2e(prepare_pt2e(torch.export.export(layers(), INPUTS).module(), quantizer))
    assert sum("dequantize_per_channel" in str(node.target) for node in model.graph.nodes) == 1


@pytest.mark.parametrize("bits", [{"weight_bits": 3}, {"act_bits": 16}])
def test_other_bits_are_errors(bits: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="expected 4 or 8"):
        get_symmetric_quantization_config(**bits)


@pytest.mark.parametrize(
    ("config", "operator"),
    [
        (IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32)), "et_vk.linear_q4gsw.default"),
        (
            Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32)),
            "et_vk.linear_dq8ca_q4gsw.default",
        ),
    ],
    ids=["4w", "8da4w"],
)
def test_torchao(config: object, operator: str) -> None:
    """VK-07, VK-19: `quantize_` with 4-bit weights in groups."""
    model = layers()
    quantize_(model, config)
    unwrap_tensor_subclass(model)
    program = lowered.lower(model, INPUTS)
    assert not lowered.left(program)
    assert operator in lowered.names(program)
    lowered.check(program, model, INPUTS, tolerance=1e-4)
