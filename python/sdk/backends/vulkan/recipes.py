# SPDX-License-Identifier: BSD-3-Clause
"""The recipes of Vulkan: floats, and quantised weights of linear layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sdk.export.recipe import AOQuantizationConfig, ExportRecipe, LoweringRecipe, QuantizationRecipe, RecipeType
from sdk.export.recipe_provider import BackendRecipeProvider

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


class VulkanRecipeProvider(BackendRecipeProvider):
    """Recipes have the options of `VulkanPartitioner`'s `compile_options`, those with int4 also `group_size`: how many
    weights of a row share a scale, 32 by default."""

    @property
    def backend_name(self) -> str:
        return "vulkan"

    def get_supported_recipes(self) -> Sequence[RecipeType]:
        return list(VulkanRecipeType)

    def create_recipe(self, recipe_type: RecipeType, **kwargs: Any) -> ExportRecipe | None:
        """Raises ValueError for options that the recipe does not have, or with values of the wrong kind."""
        if not isinstance(recipe_type, VulkanRecipeType):
            return None
        from sdk.backends.vulkan.options import OPTION_NAMES
        from sdk.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner

        group = kwargs.pop("group_size", _GROUP) if "int4" in recipe_type.value else _GROUP
        unknown = sorted(set(kwargs) - set(OPTION_NAMES))
        if unknown:
            raise ValueError(
                f"{recipe_type.value} has no option {', '.join(unknown)}; it has {', '.join(OPTION_NAMES)}"
            )
        if recipe_type is VulkanRecipeType.FP16:
            kwargs.setdefault("force_fp16", True)
        return ExportRecipe(
            recipe_type.value,
            quantization_recipe=_quantization(recipe_type, group),
            lowering_recipe=LoweringRecipe([VulkanPartitioner(kwargs)]),
        )


def _quantization(recipe_type: VulkanRecipeType, group: Any) -> QuantizationRecipe | None:
    if recipe_type in (VulkanRecipeType.FP32, VulkanRecipeType.FP16):
        return None
    if not isinstance(group, int) or group < 2 or group % 2:
        raise ValueError(f"group_size is {group!r}; expected an even number")
    try:
        if "pt2e" in recipe_type.value:
            from sdk.backends.vulkan.quantizer.vulkan_quantizer import (
                VulkanQuantizer,
                get_symmetric_quantization_config,
            )

            config = get_symmetric_quantization_config(is_dynamic=recipe_type is VulkanRecipeType.PT2E_INT8_DYNAMIC)
            return QuantizationRecipe(quantizers=[VulkanQuantizer().set_global(config)])
        import torch
        from torchao.quantization.granularity import PerGroup
        from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, IntxWeightOnlyConfig
    except ImportError as error:
        raise ValueError(
            f"{recipe_type.value} quantises, which needs the package `torchao` ({error}); install it with "
            f"`pip install torchao`"
        ) from error
    groups = PerGroup(group)
    layers: Any = (
        IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=groups)
        if recipe_type is VulkanRecipeType.TORCHAO_INT4_WEIGHTS
        else Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=groups)
    )
    return QuantizationRecipe(ao_quantization_configs=[AOQuantizationConfig(layers)])
