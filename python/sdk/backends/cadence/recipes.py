# SPDX-License-Identifier: BSD-3-Clause
"""The recipes of Cadence: float32 and int8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sdk.backends.recipes import OperatorRecipes
from sdk.export.recipe import ExportRecipe, QuantizationRecipe, RecipeType

if TYPE_CHECKING:
    from sdk.exir import EdgeCompileConfig
    from sdk.exir.pass_base import PassType


class CadenceRecipeType(RecipeType):
    """The names of the recipes."""

    FP32 = "cadence_fp32"
    INT8 = "cadence_int8"

    @classmethod
    def get_backend_name(cls) -> str:
        """The backend that the recipes belong to."""
        return "cadence"


class CadenceRecipeProvider(OperatorRecipes):
    """Recipes have the option `opt_level`, from 0 to 4, which is 1 by default. `cadence_int8` has `quantizer`, too, a
    `CadenceQuantizer`."""

    types = CadenceRecipeType

    def options(self, recipe_type: CadenceRecipeType) -> Sequence[str]:
        return ("opt_level", "quantizer") if recipe_type is CadenceRecipeType.INT8 else ("opt_level",)

    def quantization(self, recipe_type: CadenceRecipeType, options: Mapping[str, Any]) -> QuantizationRecipe | None:
        if recipe_type is CadenceRecipeType.FP32:
            return None
        from sdk.backends.cadence.aot.compiler_funcs import decomposed
        from sdk.backends.cadence.aot.quantizer.quantizer import CadenceDefaultQuantizer

        quantizer = options.get("quantizer") or CadenceDefaultQuantizer()
        kept = quantizer.get_ops_to_preserve_from_decomposition()
        return QuantizationRecipe([quantizer], captured_transforms=[lambda program: decomposed(program, kept)])

    def add_lowering(self, recipe: ExportRecipe, recipe_type: Any, options: Mapping[str, Any]) -> None:
        from sdk.backends.cadence.aot.compiler import apply_pre_edge_transform_passes
        from sdk.backends.cadence.aot.compiler_funcs import decomposed
        from sdk.backends.cadence.aot.passes import apply_torch_ops_passes

        super().add_lowering(recipe, recipe_type, options)
        quantizers = recipe.quantization_recipe.get_quantizers() if recipe.quantization_recipe else None
        if not quantizers:
            recipe.aten_transform_passes = [lambda _, program: apply_torch_ops_passes(decomposed(program))]
        else:
            quantizer = quantizers[0]  # the quantizer that annotated the model also fuses the chains
            recipe.aten_transform_passes = [lambda _, program: apply_pre_edge_transform_passes(program, quantizer)]

    def edge_compile_config(self) -> EdgeCompileConfig:
        from sdk.backends.cadence.aot.compiler import edge_compile_config

        return edge_compile_config()

    def passes(self, recipe_type: CadenceRecipeType, options: Mapping[str, Any]) -> Sequence[PassType]:
        from sdk.backends.cadence.aot.passes import passes_of_level

        return passes_of_level(options.get("opt_level", 1))
