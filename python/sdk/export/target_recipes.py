# SPDX-License-Identifier: BSD-3-Clause
"""Recipes for a kind of device. They use the backends for that device, by priority. Backends declare their targets
(`sdk.backends.registry.TargetRecipe`)."""

from __future__ import annotations

from typing import Any

from sdk.backends import registry
from sdk.export.recipe import ExportRecipe
from sdk.export.recipe_registry import recipe_registry

_SYSTEMS = {"ios": "iOS", "android": "Android"}


def get_ios_recipe(target_config: str = "ios-arm64-coreml-fp16", **kwargs: Any) -> ExportRecipe:
    """The recipe for iPhones and iPads.

    `target_config` is the name of a target that an installed backend declares (`targets("ios")`). The backend gets
    the options in `kwargs`. Raises ValueError if no backend declares the target, or if one cannot make its
    recipe.
    """
    return _target_recipe("ios", target_config, kwargs)


def get_android_recipe(target_config: str = "android-arm64-snapdragon-fp16", **kwargs: Any) -> ExportRecipe:
    """The recipe for Android devices, with the arguments and errors of `get_ios_recipe`."""
    return _target_recipe("android", target_config, kwargs)


def targets(system: str) -> dict[str, registry.Backend]:
    """The targets of `ios` or `android`, and the backend that declares each."""
    return {
        name: backend
        for backend in registry.backends().values()
        for name, target in backend.targets.items()
        if target.system == system
    }


def _target_recipe(system: str, name: str, kwargs: dict[str, Any]) -> ExportRecipe:
    known = targets(system)
    if name not in known:
        raise ValueError(
            f"Unsupported {_SYSTEMS[system]} configuration: '{name}'. Supported: {list(known)}, which the installed "
            f"backends declare."
        )
    backend = known[name]
    target = backend.targets[name]
    recipes = [_recipe(backend, target.recipe, name, kwargs)]
    default = registry.default_backend() if target.rest_to_cpu else None
    if default is not None and default.float_recipe is not None:
        recipes.append(_recipe(default, default.float_recipe, name, {}))
    return ExportRecipe.combine(recipes, recipe_name=name)


def _recipe(backend: registry.Backend, recipe: str, target: str, kwargs: dict[str, Any]) -> ExportRecipe:
    try:
        kinds = {kind.value: kind for kind in recipe_registry.get_supported_recipes(backend.name)}
        if recipe not in kinds:
            raise ValueError(f"{backend.name} has no recipe of this name; it has {list(kinds)} ({backend.place})")
        return ExportRecipe.get_recipe(kinds[recipe], **dict(kwargs))
    except Exception as error:
        raise ValueError(f"Failed to create {recipe} recipe for {target}: {error}") from error
