# SPDX-License-Identifier: BSD-3-Clause
"""The recipes of MediaTek: floats, and one for each `Precision`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sdk.backends.recipes import BackendRecipes
from sdk.export.recipe import QuantizationRecipe, RecipeType


class NeuropilotRecipeType(RecipeType):
    """The names of the recipes."""

    FP32 = "mediatek_fp32"
    A16W16 = "mediatek_a16w16"
    A16W8 = "mediatek_a16w8"
    A16W4 = "mediatek_a16w4"
    A8W8 = "mediatek_a8w8"
    A8W4 = "mediatek_a8w4"

    @classmethod
    def get_backend_name(cls) -> str:
        """The backend of the recipes."""
        return "mediatek"


class NeuropilotRecipeProvider(BackendRecipes):
    """Recipes have the option `platform`, which is "mt6989" by default."""

    types = NeuropilotRecipeType

    def options(self, recipe_type: NeuropilotRecipeType) -> Sequence[str]:
        return ("platform",)

    def partitioner(self, recipe_type: NeuropilotRecipeType, options: Mapping[str, Any]) -> Any:
        from sdk.backends.mediatek.partitioner import NeuropilotPartitioner
        from sdk.exir.backend.compile_spec_schema import CompileSpec

        return NeuropilotPartitioner([CompileSpec("platform-config", options.get("platform", "mt6989").encode())])

    def quantization(self, recipe_type: NeuropilotRecipeType, options: Mapping[str, Any]) -> QuantizationRecipe | None:
        if recipe_type is NeuropilotRecipeType.FP32:
            return None
        from sdk.backends.mediatek.quantizer import NeuropilotQuantizer, Precision

        quantizer = NeuropilotQuantizer()
        quantizer.setup_precision(Precision[recipe_type.name])
        return QuantizationRecipe(quantizers=[quantizer])
