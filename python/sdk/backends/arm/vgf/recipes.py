# SPDX-License-Identifier: BSD-3-Clause
"""The recipes of VGF: floats, and int8 weights and activations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sdk.export.recipe import ExportRecipe, LoweringRecipe, QuantizationRecipe, RecipeType
from sdk.export.recipe_provider import BackendRecipeProvider


class VgfRecipeType(RecipeType):
    """The names of the recipes."""

    FP32 = "vgf_fp32"
    INT8 = "vgf_int8"

    @classmethod
    def get_backend_name(cls) -> str:
        """The backend of the recipes."""
        return "vgf"


class VgfRecipeProvider(BackendRecipeProvider):
    """Recipes have the options of `VgfCompileSpec`, `vgf_int8` also `is_per_channel` (True by default)."""

    @property
    def backend_name(self) -> str:
        return "vgf"

    def get_supported_recipes(self) -> Sequence[RecipeType]:
        return list(VgfRecipeType)

    def create_recipe(self, recipe_type: RecipeType, **kwargs: Any) -> ExportRecipe | None:
        """Raises ValueError for an option that the recipe does not have."""
        if not isinstance(recipe_type, VgfRecipeType):
            return None
        from sdk.backends.arm.vgf import VgfCompileSpec, VgfPartitioner

        known = ("tosa_spec", "compiler_flags", *(("is_per_channel",) if recipe_type is VgfRecipeType.INT8 else ()))
        unknown = sorted(set(kwargs) - set(known))
        if unknown:
            raise ValueError(f"{recipe_type.value} has no option {unknown[0]!r}; it has {', '.join(known)}")
        is_per_channel = kwargs.pop("is_per_channel", True)
        spec = VgfCompileSpec(**kwargs)
        quantization = None if recipe_type is VgfRecipeType.FP32 else _quantization(spec, is_per_channel)
        lowering = LoweringRecipe([VgfPartitioner(spec)])
        return ExportRecipe(recipe_type.value, quantization_recipe=quantization, lowering_recipe=lowering)


def _quantization(spec: Any, is_per_channel: bool) -> QuantizationRecipe:
    try:
        from sdk.backends.arm.quantizer import VgfQuantizer, get_symmetric_quantization_config
    except ImportError as error:
        raise ValueError(f"{VgfRecipeType.INT8.value} needs torchao ({error}): `pip install torchao`") from error
    config = get_symmetric_quantization_config(is_per_channel=is_per_channel)
    return QuantizationRecipe(quantizers=[VgfQuantizer(spec).set_global(config)])
