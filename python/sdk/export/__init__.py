# SPDX-License-Identifier: BSD-3-Clause
"""Exports a model as a `.pte` program, by a recipe.

    session = sdk.export.export(model, [(torch.ones(1, 8),)])     # or sdk.export(...): the package is callable
    session.save_to_pte("model.pte")
    print(session.get_receipt())

`python -m sdk.export MODEL` does the same from the command line. Importing this package imports no torch; every
name is loaded when it is first used.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sdk.extras import lazily, shadowed

if TYPE_CHECKING:
    from sdk.export.example_inputs import ExampleInputs as ExampleInputs
    from sdk.export.export import ExportSession as ExportSession
    from sdk.export.export import export as export
    from sdk.export.recipe import AOQuantizationConfig as AOQuantizationConfig
    from sdk.export.recipe import ExportRecipe as ExportRecipe
    from sdk.export.recipe import LoweringRecipe as LoweringRecipe
    from sdk.export.recipe import QuantizationRecipe as QuantizationRecipe
    from sdk.export.recipe import RecipeType as RecipeType
    from sdk.export.recipe_provider import BackendRecipeProvider as BackendRecipeProvider
    from sdk.export.recipe_registry import recipe_registry as recipe_registry
    from sdk.export.types import StageType as StageType

_EXPORTS = {
    "AOQuantizationConfig": "recipe",
    "BackendRecipeProvider": "recipe_provider",
    "ExampleInputs": "example_inputs",
    "ExportRecipe": "recipe",
    "ExportSession": "export",
    "LoweringRecipe": "recipe",
    "QuantizationRecipe": "recipe",
    "RecipeType": "recipe",
    "StageType": "types",
}
_SHADOWED = ("export", "recipe_registry")
"""Public values with the same name as the submodule in which they are defined."""

__all__ = sorted([*_EXPORTS, *_SHADOWED])
__getattr__ = lazily(globals(), _EXPORTS)


class _CallablePackage(ModuleType):
    """`sdk.export(...)` is `sdk.export.export(...)`: the documents write both."""

    export = shadowed("export")
    recipe_registry = shadowed("recipe_registry")

    def __call__(self, *args: Any, **kwargs: Any) -> ExportSession:
        session: ExportSession = self.export(*args, **kwargs)
        return session


sys.modules[__name__].__class__ = _CallablePackage
