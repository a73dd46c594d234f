# SPDX-License-Identifier: BSD-3-Clause
"""The recipes of VGF: floats, and int8 weights and activations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sdk.backends.recipes import BackendRecipes
from sdk.export.recipe import QuantizationRecipe, RecipeType


class VgfRecipeType(RecipeType):
    """The names of the recipes."""

    FP32 = "vgf_fp32"
    INT8 = "vgf_int8"

    @classmethod
    def get_backend_name(cls) -> str:
        """The backend of the recipes."""
        return "vgf"


class VgfRecipeProvider(BackendRecipes):
    """Recipes have the options of `VgfCompileSpec`, `vgf_int8` also `is_per_channel` (True by default)."""

    types = VgfRecipeType

    def options(self, recipe_type: VgfRecipeType) -> Sequence[str]:
        return ("tosa_spec", "compiler_flags", *(("is_per_channel",) if recipe_type is VgfRecipeType.INT8 else ()))

    def partitioner(self, recipe_type: VgfRecipeType, options: Mapping[str, Any]) -> Any:
        from sdk.backends.arm.vgf import VgfPartitioner

        return VgfPartitioner(_spec(options))

    def quantization(self, recipe_type: VgfRecipeType, options: Mapping[str, Any]) -> QuantizationRecipe | None:
        if recipe_type is VgfRecipeType.FP32:
            return None
        from sdk.backends.arm.quantizer import VgfQuantizer, get_symmetric_quantization_config

        config = get_symmetric_quantization_config(is_per_channel=options.get("is_per_channel", True))
        return QuantizationRecipe(quantizers=[VgfQuantizer(_spec(options)).set_global(config)])


def _spec(options: Mapping[str, Any]) -> Any:
    from sdk.backends.arm.vgf import VgfCompileSpec

    return VgfCompileSpec(**{name: value for name, value in options.items() if name != "is_per_channel"})
