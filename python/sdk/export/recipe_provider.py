# SPDX-License-Identifier: BSD-3-Clause
"""The interface by which a backend offers recipes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from sdk.export.recipe import ExportRecipe, RecipeType


class BackendRecipeProvider(ABC):
    """The recipes of one backend. Register it with `recipe_registry.register_backend_recipe_provider`."""

    @property
    @abstractmethod
    def backend_name(self) -> str:
        """The value of `RecipeType.get_backend_name()` of this backend's recipes."""

    @abstractmethod
    def get_supported_recipes(self) -> Sequence[RecipeType]:
        """The recipes that `create_recipe` makes."""

    @abstractmethod
    def create_recipe(self, recipe_type: RecipeType, **kwargs: Any) -> ExportRecipe | None:
        """A new recipe, or None if `recipe_type` is not supported. Raises ValueError for invalid options."""

    def supports_recipe(self, recipe_type: RecipeType) -> bool:
        """Whether `create_recipe` makes this recipe."""
        return recipe_type in self.get_supported_recipes()
