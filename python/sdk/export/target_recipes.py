# SPDX-License-Identifier: BSD-3-Clause
"""Recipes for a kind of device: the backends that suit it, by priority."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from sdk.export.recipe import ExportRecipe, RecipeType

_XNNPACK = "sdk.backends.xnnpack.recipes:XNNPackRecipeType"
_COREML = "sdk.backends.apple.coreml.recipes:CoreMLRecipeType"
_QNN = "sdk.backends.qualcomm.recipes:QNNRecipeType"

IOS = {
    "ios-arm64-coreml-fp32": (f"{_COREML}.FP32", f"{_XNNPACK}.FP32"),
    "ios-arm64-coreml-fp16": (f"{_COREML}.FP16", f"{_XNNPACK}.FP32"),
    "ios-arm64-coreml-int8": (f"{_COREML}.PT2E_INT8_STATIC",),
}
ANDROID = {"android-arm64-snapdragon-fp16": (f"{_QNN}.FP16", f"{_XNNPACK}.FP32")}


def get_ios_recipe(target_config: str = "ios-arm64-coreml-fp16", **kwargs: Any) -> ExportRecipe:
    """The recipe for iPhones and iPads.

    `target_config` is `ios-arm64-coreml-fp32`, `ios-arm64-coreml-fp16` (both with XNNPACK for what Core ML does not
    take) or `ios-arm64-coreml-int8`. Each backend takes the options in `kwargs` that it knows. Raises ValueError where
    the name is unknown or a backend cannot make its part.
    """
    return _target_recipe("iOS", IOS, target_config, kwargs)


def get_android_recipe(target_config: str = "android-arm64-snapdragon-fp16", **kwargs: Any) -> ExportRecipe:
    """The recipe for Android devices; `target_config` is `android-arm64-snapdragon-fp16` (Qualcomm's NPU, XNNPACK for
    the rest). Raises ValueError where the name is unknown or a backend cannot make its part."""
    return _target_recipe("Android", ANDROID, target_config, kwargs)


def _target_recipe(
    system: str, configurations: Mapping[str, Sequence[str]], name: str, kwargs: dict[str, Any]
) -> ExportRecipe:
    if name not in configurations:
        raise ValueError(f"Unsupported {system} configuration: '{name}'. Supported: {list(configurations)}")
    return ExportRecipe.combine(
        [_recipe(place, name, dict(kwargs)) for place in configurations[name]], recipe_name=name
    )


def _recipe(place: str, target: str, kwargs: dict[str, Any]) -> ExportRecipe:
    module, _, member = place.partition(":")
    kind, _, value = member.partition(".")
    try:
        recipe: RecipeType = getattr(import_module(module), kind)[value]
    except ImportError as error:
        raise ValueError(
            f"'{target}' needs the backend {module.removesuffix('.recipes')}, which this installation does not have "
            f"({error})."
        ) from error
    try:
        return ExportRecipe.get_recipe(recipe, **kwargs)
    except Exception as error:
        raise ValueError(f"Failed to create {recipe.value} recipe for {target}: {error}") from error
