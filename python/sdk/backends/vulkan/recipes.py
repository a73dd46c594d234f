# SPDX-License-Identifier: BSD-3-Clause
"""The recipes of Vulkan: floats, and quantised weights of linear layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sdk.backends.recipes import BackendRecipes
from sdk.export.recipe import AOQuantizationConfig, QuantizationRecipe, RecipeType

_GROUP = 32


class VulkanRecipeType(RecipeType):
    """The names of the recipes. Recipes for PT2E are calibrated with the example inputs; recipes for torchao replace
    weights of the module."""

    FP32 = "vulkan_fp32"
    FP16 = "vulkan_fp16"
    PT2E_INT8_WEIGHTS = "vulkan_pt2e_int8_weights"
    PT2E_INT8_DYNAMIC = "vulkan_pt2e_int8_dynamic"
    TORCHAO_INT4_WEIGHTS = "vulkan_torchao_int4_weights"
    TORCHAO_INT8_DYNAMIC_ACT_INT4_WEIGHTS = "vulkan_torchao_int8da_int4_weights"

    @classmethod
    def get_backend_name(cls) -> str:
        """The backend of the recipes."""
        return "vulkan"


class VulkanRecipeProvider(BackendRecipes):
    """Recipes have the options of `VulkanPartitioner`'s `compile_options`, those with int4 also `group_size`: how many
    weights of a row share a scale, 32 by default."""

    types = VulkanRecipeType

    def options(self, recipe_type: VulkanRecipeType) -> Sequence[str]:
        from sdk.backends.vulkan.options import OPTION_NAMES

        return (*OPTION_NAMES, *(("group_size",) if "int4" in recipe_type.value else ()))

    def partitioner(self, recipe_type: VulkanRecipeType, options: Mapping[str, Any]) -> Any:
        from sdk.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner

        half = {"force_fp16": True} if recipe_type is VulkanRecipeType.FP16 else {}
        return VulkanPartitioner({**half, **{name: value for name, value in options.items() if name != "group_size"}})

    def quantization(self, recipe_type: VulkanRecipeType, options: Mapping[str, Any]) -> QuantizationRecipe | None:
        if recipe_type in (VulkanRecipeType.FP32, VulkanRecipeType.FP16):
            return None
        if "pt2e" in recipe_type.value:
            return _linear(is_dynamic=recipe_type is VulkanRecipeType.PT2E_INT8_DYNAMIC)
        return _int4(recipe_type is VulkanRecipeType.TORCHAO_INT4_WEIGHTS, options.get("group_size", _GROUP))


def _linear(is_dynamic: bool) -> QuantizationRecipe:
    from sdk.backends.vulkan.quantizer.vulkan_quantizer import VulkanQuantizer, get_symmetric_quantization_config

    config = get_symmetric_quantization_config(is_dynamic=is_dynamic)
    return QuantizationRecipe(quantizers=[VulkanQuantizer().set_global(config)])


def _int4(weights_only: bool, group: Any) -> QuantizationRecipe:
    if not isinstance(group, int) or group < 2 or group % 2:
        raise ValueError(f"group_size is {group!r}; expected an even number")
    import torch
    from torchao.quantization.granularity import PerGroup
    from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, IntxWeightOnlyConfig

    groups = PerGroup(group)
    layers: Any = (
        IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=groups)
        if weights_only
        else Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=groups)
    )
    return QuantizationRecipe(ao_quantization_configs=[AOQuantizationConfig(layers)])
