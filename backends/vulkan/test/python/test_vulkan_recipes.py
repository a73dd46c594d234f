# SPDX-License-Identifier: BSD-3-Clause
"""Vulkan's recipes: what each lowers to, and invalid options are refused."""

from __future__ import annotations

import lowered
import pytest
import torch
from torch import nn

from sdk.backends.vulkan.recipes import VulkanRecipeType
from sdk.export import ExportRecipe
from sdk.export import export as export_by_recipe

OPERATORS = {
    VulkanRecipeType.FP32: "aten.linear.default",
    VulkanRecipeType.FP16: "aten.linear.default",
    VulkanRecipeType.PT2E_INT8_WEIGHTS: "et_vk.linear_q8csw.default",
    VulkanRecipeType.PT2E_INT8_DYNAMIC: "quantized_decomposed.choose_qparams.tensor",
    VulkanRecipeType.TORCHAO_INT4_WEIGHTS: "et_vk.linear_q4gsw.default",
    VulkanRecipeType.TORCHAO_INT8_DYNAMIC_ACT_INT4_WEIGHTS: "et_vk.linear_dq8ca_q4gsw.default",
}


@pytest.mark.parametrize("kind", VulkanRecipeType, ids=lambda kind: kind.name)
def test_recipes(kind: VulkanRecipeType) -> None:
    """VK-06, VK-07"""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 4)).eval()
    inputs = (torch.linspace(-2, 2, 64).reshape(1, 64),)
    session = export_by_recipe(model, [inputs], ExportRecipe.get_recipe(kind))
    edge = session.get_edge_program_manager()
    assert not lowered.left(edge)
    assert OPERATORS[kind] in lowered.names(edge)
    found, wanted = lowered.run_program(edge, *inputs)[0], model(*inputs).detach()
    allowed = 1e-5 if kind is VulkanRecipeType.FP32 else 0.2 if "INT4" in kind.name else 0.05
    assert float((found - wanted).abs().max() / wanted.abs().max()) < allowed


def test_options_of_recipes() -> None:
    grouped = VulkanRecipeType.TORCHAO_INT4_WEIGHTS
    made = ExportRecipe.get_recipe(grouped, group_size=64).quantization_recipe
    assert made is not None and made.ao_quantization_configs is not None
    assert made.ao_quantization_configs[0].ao_base_config.granularity.group_size == 64
    with pytest.raises(ValueError, match="group_size is 21; expected an even number"):
        ExportRecipe.get_recipe(grouped, group_size=21)
    with pytest.raises(ValueError, match="vulkan_fp32 has no option group_size; it has "):
        ExportRecipe.get_recipe(VulkanRecipeType.FP32, group_size=32)
    with pytest.raises(ValueError, match="force_fp16"):
        ExportRecipe.get_recipe(VulkanRecipeType.FP32, force_fp16=3)
