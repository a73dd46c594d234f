# SPDX-License-Identifier: BSD-3-Clause
"""`BackendRecipes`: the recipes of a backend, from a declaration of their names, options and parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sdk.export.recipe import ExportRecipe, LoweringRecipe, QuantizationRecipe, RecipeType
from sdk.export.recipe_provider import BackendRecipeProvider


class BackendRecipes(BackendRecipeProvider):
    """Makes the recipes of a backend. A subclass declares which there are, and gives the parts of each.

    Attributes:
        types: The names of the recipes.
        needs: What quantising needs beside this package, as arguments of `pip install`.
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
        """How a recipe quantises, given its options; None if it does not."""
        return None

    def dtype(self, recipe_type: Any) -> Any:
        """The dtype in which a recipe computes; None for that of the model."""
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
        return ExportRecipe(
            recipe_type.value,
            quantization_recipe=quantization,
            lowering_recipe=LoweringRecipe([self.partitioner(recipe_type, kwargs)]),
            dtype=self.dtype(recipe_type),
        )
