# SPDX-License-Identifier: BSD-3-Clause
"""Recipes: the options of an export other than the model and its inputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from sdk.export.types import StageType

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram

    from sdk.exir import EdgeCompileConfig, EdgeProgramManager, ExecutorchBackendConfig
    from sdk.exir.backend.partitioner import Partitioner
    from sdk.exir.capture._config import PassType


class RecipeType(Enum):
    """Base of the enumerations that name a backend's recipes. A member's value is the recipe's name, and unique among
    all backends, for example `demo_fp32`."""

    @classmethod
    def get_backend_name(cls) -> str:
        """The name under which the backend's provider is registered."""
        raise NotImplementedError(f"{cls.__name__} must define the class method get_backend_name()")


class Mode(str, Enum):
    """The purpose of the program."""

    DEBUG = "debug"
    RELEASE = "release"


@dataclass
class AOQuantizationConfig:
    """One call of `torchao.quantization.quantize_`: a configuration and, optionally, the modules to which it
    applies."""

    ao_base_config: Any
    filter_fn: Callable[[torch.nn.Module, str], bool] | None = None


@dataclass
class QuantizationRecipe:
    """`quantizers` are for the QUANTIZE stage (PT2E), `ao_quantization_configs` for SOURCE_TRANSFORM (torchao).
    `captured_transforms` run on the captured program before quantizers annotate it, for example decompositions."""

    quantizers: list[Any] | None = None
    ao_quantization_configs: list[AOQuantizationConfig] | None = None
    captured_transforms: list[Callable[[ExportedProgram], ExportedProgram]] | None = None

    def get_quantizers(self) -> list[Any] | None:
        """The quantizers of the QUANTIZE stage."""
        return self.quantizers


@dataclass
class LoweringRecipe:
    """How captured programs become programs with delegates.

    Attributes:
        partitioners: The partitioners by priority: each gets the nodes that the ones before it did not take.
        edge_transform_passes: Functions of a method's name and program that return the passes for this method.
        edge_manager_transform_passes: Functions of the manager that return passes for all methods. They are for the
            stage EDGE_PROGRAM_MANAGER_TRANSFORM, which `ExportRecipe.pipeline_stages` has to list.
        edge_compile_config: The checks of edge dialect.
    """

    partitioners: list[Partitioner] | None = None
    edge_transform_passes: list[Callable[[str, ExportedProgram], list[PassType] | Any]] | None = None
    edge_manager_transform_passes: list[Callable[[EdgeProgramManager], list[PassType] | Any]] | None = None
    edge_compile_config: EdgeCompileConfig | None = None


@dataclass
class ExportRecipe:
    """How a model becomes a program.

    Attributes:
        name: The name in messages and reports.
        quantization_recipe: None does not quantise the model.
        aten_transform_passes: Functions of a method's name and captured program that return a program.
        lowering_recipe: None lowers without delegates: unlike the command line, a recipe has no default backend.
        executorch_backend_config: Memory planning and serialisation.
        pipeline_stages: The stages to run; None chooses them by the kind of model.
        mode: The purpose of the program: debugging or release.
        strict: The `strict` of torch.export.export. (To fail where something would be lost silently, say
            `export(..., strict=True)`.)
        dtype: torch.float16 computes a float32 model in float16 where that is accurate; inputs and outputs stay
            float32. None and torch.float32 leave the model as it is.
    """

    name: str | None = None
    quantization_recipe: QuantizationRecipe | None = None
    aten_transform_passes: list[Callable[[str, ExportedProgram], ExportedProgram]] | None = None
    lowering_recipe: LoweringRecipe | None = None
    executorch_backend_config: ExecutorchBackendConfig | None = None
    pipeline_stages: list[StageType] | None = None
    mode: Mode = Mode.RELEASE
    strict: bool = True
    dtype: torch.dtype | None = None

    @classmethod
    def get_recipe(cls, recipe: RecipeType, **kwargs: Any) -> ExportRecipe:
        """The recipe that a backend registered for `recipe`; `kwargs` are the backend's own options.

        Raises:
            ValueError: `recipe` is not a RecipeType, its backend is not registered, or it has no such recipe.
        """
        from sdk.export.recipe_registry import recipe_registry

        if not isinstance(recipe, RecipeType):
            raise ValueError(
                f"Invalid recipe type: {recipe!r}. Expected a member of a RecipeType enumeration, which "
                f"a backend's module `recipes` has."
            )
        backend = recipe.get_backend_name()
        made = recipe_registry.create_recipe(recipe, backend, **kwargs)
        if made is None:
            supported = [known.value for known in recipe_registry.get_supported_recipes(backend)]
            raise ValueError(f"Recipe '{recipe.value}' not supported by '{backend}'. Supported: {supported}")
        return made

    @classmethod
    def combine(cls, recipes: list[ExportRecipe], recipe_name: str | None = None) -> ExportRecipe:
        """Combines recipes of several backends into one. Earlier backends have priority.

        Lists are joined in order. Edge dialect is checked only if every recipe checks it. Dim orders are skipped if one
        recipe skips them. DEBUG takes precedence over RELEASE.

        Raises:
            ValueError: there are no recipes, or two of them contradict each other.
        """
        if not recipes:
            raise ValueError("Recipes cannot be empty")
        if len(recipes) == 1:
            return dataclasses.replace(recipes[0], name=recipe_name or recipes[0].name)
        return cls(
            name=recipe_name or "_".join(recipe.name for recipe in recipes if recipe.name) or None,
            quantization_recipe=_joined(QuantizationRecipe, [r.quantization_recipe for r in recipes]),
            aten_transform_passes=_concatenated([r.aten_transform_passes for r in recipes]) or [],
            lowering_recipe=_joined(LoweringRecipe, [r.lowering_recipe for r in recipes]),
            executorch_backend_config=_agreed("executorch_backend_config", recipes),
            pipeline_stages=_agreed("pipeline_stages", recipes),
            mode=Mode.DEBUG if any(r.mode == Mode.DEBUG for r in recipes) else Mode.RELEASE,
            strict=all(r.strict for r in recipes),
            dtype=_agreed("dtype", recipes),
        )


def _concatenated(lists: list[list[Any] | None]) -> list[Any] | None:
    joined = [item for items in lists if items for item in items]
    return joined or None


def _joined(kind: type, parts: list[Any]) -> Any:
    """A `kind` whose lists have the items of all `parts`; None if there are no parts."""
    given = [part for part in parts if part is not None]
    if not given:
        return None
    fields: dict[str, Any] = {}
    for spec in dataclasses.fields(kind):
        values = [getattr(part, spec.name) for part in given]
        fields[spec.name] = _compile_config(values) if spec.name == "edge_compile_config" else _concatenated(values)
    return kind(**fields)


def _compile_config(configs: list[Any]) -> Any:
    given = [config for config in configs if config is not None]
    if len(given) < 2:
        return given[0] if given else None
    joined: dict[str, Any] = {}
    for spec in dataclasses.fields(given[0]):
        values = [getattr(config, spec.name) for config in given]
        if isinstance(values[0], bool):
            joined[spec.name] = all(values) if spec.name == "_check_ir_validity" else any(values)
        else:
            joined[spec.name] = list(dict.fromkeys(item for items in values for item in items or ()))
    return type(given[0])(**joined)


def _agreed(field: str, recipes: list[ExportRecipe]) -> Any:
    """The common value of the recipes that set `field`."""
    said = [(recipe.name, getattr(recipe, field)) for recipe in recipes if getattr(recipe, field) is not None]
    if any(value != said[0][1] for _, value in said[1:]):
        names = ", ".join(str(name) for name, _ in said)
        raise ValueError(
            f"The recipes {names} cannot be combined: they have different values of {field}. Give it to one of them "
            f"only, or set it on the combined recipe."
        )
    return said[0][1] if said else None
