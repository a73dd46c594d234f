# SPDX-License-Identifier: BSD-3-Clause
"""The recipes of Samsung: floats and A8W8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sdk.backends.recipes import BackendRecipes
from sdk.export.recipe import QuantizationRecipe, RecipeType


class EnnRecipeType(RecipeType):
    """The names of the recipes."""

    FP32 = "samsung_fp32"
    A8W8 = "samsung_a8w8"

    @classmethod
    def get_backend_name(cls) -> str:
        """The backend of the recipes."""
        return "samsung"


class EnnRecipeProvider(BackendRecipes):
    """Recipes have the option `chipset`, which is "E9955" by default."""

    types = EnnRecipeType

    def options(self, recipe_type: EnnRecipeType) -> Sequence[str]:
        return ("chipset",)

    def partitioner(self, recipe_type: EnnRecipeType, options: Mapping[str, Any]) -> Any:
        from sdk.backends.samsung.partition.enn_partitioner import EnnPartitioner
        from sdk.backends.samsung.serialization.compile_options import gen_samsung_backend_compile_spec

        return EnnPartitioner([gen_samsung_backend_compile_spec(options.get("chipset", "E9955"))])

    def quantization(self, recipe_type: EnnRecipeType, options: Mapping[str, Any]) -> QuantizationRecipe | None:
        if recipe_type is EnnRecipeType.FP32:
            return None
        from sdk.backends.samsung.quantizer import EnnQuantizer, Precision

        quantizer = EnnQuantizer()
        quantizer.setup_precision(Precision[recipe_type.name])
        return QuantizationRecipe(quantizers=[quantizer])
