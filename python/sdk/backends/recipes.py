# SPDX-License-Identifier: BSD-3-Clause
"""The recipes of a backend, from a declaration of their names, options and parts: `BackendRecipes` where a delegate
computes, `OperatorRecipes` where kernels do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from sdk.export.recipe import ExportRecipe, LoweringRecipe, QuantizationRecipe, RecipeType
from sdk.export.recipe_provider import BackendRecipeProvider
from sdk.export.types import StageType

if TYPE_CHECKING:
    from sdk.exir import EdgeCompileConfig
    from sdk.exir.pass_base import PassType


class BackendRecipes(BackendRecipeProvider):
    """Makes the recipes of a backend. A subclass declares their names, and makes the parts of each.

    Attributes:
        types: The names of the recipes.
        needs: The packages that quantising needs in addition to this one, as arguments of `pip install`.
    """

    types: ClassVar[type[RecipeType]]
    needs: ClassVar[tuple[str, ...]] = ("torchao",)

    def options(self, recipe_type: Any) -> Sequence[str]:
        """The names of the options that a recipe has."""
        return ()

    def partitioner(self, recipe_type: Any, options: Mapping[str, Any]) -> Any:
        """The partitioner of a recipe, given its options."""
        raise NotImplementedError

    def quantization(self, recipe_type: Any, options: Mapping[str, Any]) -> QuantizationRecipe | None:
        """Returns how a recipe quantises, given its options, or None if it does not quantise."""
        return None

    def dtype(self, recipe_type: Any) -> Any:
        """The dtype in which a recipe computes; None for the model's dtype."""
        return None

    @property
    def backend_name(self) -> str:
        return self.types.get_backend_name()

    def get_supported_recipes(self) -> Sequence[RecipeType]:
        return list(self.types)

    def create_recipe(self, recipe_type: RecipeType, **kwargs: Any) -> ExportRecipe | None:
        """Raises ValueError for an option that the recipe does not have or that has a wrong value, and if a package is
        missing that quantising needs."""
        if not isinstance(recipe_type, self.types):
            return None
        known = sorted(self.options(recipe_type))
        if unknown := sorted(set(kwargs).difference(known)):
            raise ValueError(
                f"{recipe_type.value} has no option {', '.join(unknown)}; it has {', '.join(known) or 'none'}"
            )
        try:
            quantization = self.quantization(recipe_type, kwargs)
        except ImportError as error:
            raise ValueError(
                f"{recipe_type.value} quantises, which needs {' and '.join(self.needs)} ({error}); install it with "
                f"`pip install {' '.join(self.needs)}`"
            ) from error
        recipe = ExportRecipe(recipe_type.value, quantization_recipe=quantization, dtype=self.dtype(recipe_type))
        self.add_lowering(recipe, recipe_type, kwargs)
        return recipe

    def add_lowering(self, recipe: ExportRecipe, recipe_type: Any, options: Mapping[str, Any]) -> None:
        """Adds the lowering to a recipe that already has its quantisation."""
        recipe.lowering_recipe = LoweringRecipe([self.partitioner(recipe_type, options)])


class OperatorRecipes(BackendRecipes):
    """The recipes of a backend without a delegate, whose passes lower to operators that have kernels."""

    def edge_compile_config(self) -> EdgeCompileConfig:
        """Returns the configuration for lowering to the edge dialect before the passes."""
        raise NotImplementedError

    def passes(self, recipe_type: Any, options: Mapping[str, Any]) -> Sequence[PassType]:
        """The passes over programs of the edge dialect."""
        raise NotImplementedError

    def add_lowering(self, recipe: ExportRecipe, recipe_type: Any, options: Mapping[str, Any]) -> None:
        passes = list(self.passes(recipe_type, options))
        recipe.lowering_recipe = LoweringRecipe(
            edge_manager_transform_passes=[lambda _: passes], edge_compile_config=self.edge_compile_config()
        )
        recipe.pipeline_stages = [
            *(StageType.SOURCE_TRANSFORM, StageType.QUANTIZE, StageType.TORCH_EXPORT, StageType.TO_EDGE),
            *(StageType.EDGE_PROGRAM_MANAGER_TRANSFORM, StageType.TO_EXECUTORCH),
        ]
