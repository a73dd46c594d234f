# SPDX-License-Identifier: BSD-3-Clause
"""Recipes for Core ML. Importing this package registers them with `sdk.export.ExportRecipe.get_recipe`."""

from __future__ import annotations

from sdk.backends.apple.coreml.recipes.coreml_recipe_provider import CoreMLRecipeProvider
from sdk.backends.apple.coreml.recipes.coreml_recipe_types import CoreMLRecipeType
from sdk.export.recipe_registry import recipe_registry

recipe_registry.register_backend_recipe_provider(CoreMLRecipeProvider())

__all__ = ["CoreMLRecipeProvider", "CoreMLRecipeType"]
