# SPDX-License-Identifier: BSD-3-Clause
"""Recipes for XNNPACK. Importing this package registers them with `sdk.export.ExportRecipe.get_recipe`."""

from __future__ import annotations

from sdk.backends.xnnpack.recipes.xnnpack_recipe_provider import XNNPACKRecipeProvider
from sdk.backends.xnnpack.recipes.xnnpack_recipe_types import XNNPackRecipeType
from sdk.export.recipe_registry import recipe_registry

recipe_registry.register_backend_recipe_provider(XNNPACKRecipeProvider())

__all__ = ["XNNPACKRecipeProvider", "XNNPackRecipeType"]
