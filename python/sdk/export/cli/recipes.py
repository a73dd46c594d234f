# SPDX-License-Identifier: BSD-3-Clause
"""Converts `--recipe`, `--backend` and `--dtype` of the command line to an ExportRecipe."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from typing import Any

import torch

from sdk.backends import registry
from sdk.backends.registry import BackendError, QuantizationScheme
from sdk.export import target_recipes
from sdk.export.cli.backends import partitioners, told, without_delegate
from sdk.export.cli.errors import CommandError, closest
from sdk.export.cli.places import called, described, find, surroundings_of
from sdk.export.recipe import ExportRecipe, LoweringRecipe, RecipeType
from sdk.export.recipe_registry import recipe_registry


def recipe_of(
    name: str | None,
    scheme: QuantizationScheme | None,
    backends: Sequence[str],
    weights_file: str | None,
    dtype: str = "float32",
) -> ExportRecipe:
    """The recipe called `name`, or else a recipe for `backends`, the first of which quantises by `scheme` if it is
    given. With `weights_file`, weights go to a `.ptd` of that name. With the dtype `float16`, it computes in float16.

    Raises:
        CommandError: the recipe does not exist, or its backend cannot make it here.
    """
    recipe = _named(name) if name is not None else _for_backends(scheme, backends)
    if dtype == "float16":
        recipe = dataclasses.replace(recipe, dtype=torch.float16)
    if weights_file is not None:
        from sdk.exir import ExecutorchBackendConfig
        from sdk.exir.passes.external_constants_pass import tag_for_delegates

        config = recipe.executorch_backend_config or ExecutorchBackendConfig()
        config = dataclasses.replace(config, external_constants=lambda _: weights_file)
        transforms = [
            *(recipe.aten_transform_passes or ()),
            lambda _, program: tag_for_delegates(program, weights_file),
        ]
        recipe = dataclasses.replace(recipe, executorch_backend_config=config, aten_transform_passes=transforms)
    return recipe


def _for_backends(scheme: QuantizationScheme | None, backends: Sequence[str]) -> ExportRecipe:
    alone = told(lambda: without_delegate(backends))
    if scheme is not None:
        others = ExportRecipe(lowering_recipe=LoweringRecipe(partitioners(backends[1:])))
        return ExportRecipe.combine([_named(scheme.recipe), others], recipe_name=scheme.recipe)
    # Strict capture interprets Python bytecode; more models can be captured without it.
    if alone is None:
        return ExportRecipe("+".join(backends), lowering_recipe=LoweringRecipe(partitioners(backends)), strict=False)
    if alone.float_recipe is None:
        offered = " or ".join(f"--quantize {name}" for name in alone.quantization)
        raise CommandError(f"--backend {alone.name} has kernels for quantised models only: add {offered}.")
    return dataclasses.replace(_named(alone.float_recipe), strict=False)


def _named(name: str) -> ExportRecipe:
    place, colon, attribute = name.rpartition(":")
    if colon and attribute:
        return _in_file(place, attribute, name)
    registered = told(_registered)
    targets = {
        **dict.fromkeys(target_recipes.targets("ios"), target_recipes.get_ios_recipe),
        **dict.fromkeys(target_recipes.targets("android"), target_recipes.get_android_recipe),
    }
    try:
        if name in registered:
            return ExportRecipe.get_recipe(registered[name])
        if name in targets:
            return targets[name](name)
    except (ImportError, ValueError, BackendError) as error:
        raise CommandError(f"The recipe `{name}` cannot be made here: {error}") from error
    known = [*registered, *targets]
    raise CommandError(
        f"There is no recipe `{name}`.{closest(name, known)} Known: {', '.join(known)}. For your own recipe, write "
        f"file.py:name or package.module:name."
    )


def _registered() -> dict[str, RecipeType]:
    declared = [backend.name for backend in registry.backends().values() if backend.recipes is not None]
    return {
        str(kind.value): kind
        for backend in dict.fromkeys([*declared, *recipe_registry.list_backends()])
        for kind in recipe_registry.get_supported_recipes(backend)
    }


def _in_file(place: str, attribute: str, text: str) -> ExportRecipe:
    found: Any = find(surroundings_of(place), attribute, place, lambda value, _: isinstance(value, ExportRecipe))
    if isinstance(found, type) or inspect.isroutine(found):
        found = called(found, text)
    if not isinstance(found, ExportRecipe):
        raise CommandError(
            f"`{text}` is {described(found)}; expected an ExportRecipe, or a function without arguments that returns "
            f"one."
        )
    return dataclasses.replace(found, name=found.name or attribute)
