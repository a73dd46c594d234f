# SPDX-License-Identifier: BSD-3-Clause
"""EXP-16: recipes, their providers and registry, and which recipes can be combined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from sdk.backends import registry
from sdk.exir import EdgeCompileConfig, ExecutorchBackendConfig
from sdk.export import (
    BackendRecipeProvider,
    ExportRecipe,
    LoweringRecipe,
    QuantizationRecipe,
    RecipeType,
    StageType,
    recipe_registry,
)
from sdk.export.recipe import Mode
from sdk.export.recipe_registry import RecipeRegistry
from sdk.export.target_recipes import get_android_recipe, get_ios_recipe
from sdk.export.utils import is_fbcode


class Kind(RecipeType):
    FP32 = "demo_fp32"
    INT8 = "demo_int8"

    @classmethod
    def get_backend_name(cls) -> str:
        return "demo"


class Provider(BackendRecipeProvider):
    backend_name = "demo"

    def get_supported_recipes(self) -> Sequence[RecipeType]:
        return [Kind.FP32]

    def create_recipe(self, recipe_type: RecipeType, **kwargs: Any) -> ExportRecipe | None:
        if not self.supports_recipe(recipe_type):
            return None
        return ExportRecipe(name=f"{recipe_type.value}{kwargs.get('suffix', '')}")


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Provider:
    monkeypatch.setattr(recipe_registry, "_providers", {})
    monkeypatch.setattr(registry, "_registry", lambda: ({}, {}))
    provider = Provider()
    recipe_registry.register_backend_recipe_provider(provider)
    return provider


def test_exp_16_defaults() -> None:
    recipe = ExportRecipe()
    assert (recipe.name, recipe.mode, recipe.strict, recipe.pipeline_stages) == (None, Mode.RELEASE, True, None)
    assert LoweringRecipe() == LoweringRecipe(None, None, None, None)
    assert QuantizationRecipe(quantizers=[1]).get_quantizers() == [1]


def test_exp_16_registered_recipes_are_found(registered: Provider) -> None:
    assert recipe_registry.list_backends() == ["demo"] and RecipeRegistry() is recipe_registry
    assert recipe_registry.get_supported_recipes("demo") == [Kind.FP32]
    assert ExportRecipe.get_recipe(Kind.FP32, suffix="_x").name == "demo_fp32_x"
    assert registered.supports_recipe(Kind.FP32) and not registered.supports_recipe(Kind.INT8)


def test_exp_16_recipes_that_are_not_there(registered: Provider) -> None:
    with pytest.raises(ValueError, match=r"Recipe 'demo_int8' not supported by 'demo'. Supported: \['demo_fp32'\]"):
        ExportRecipe.get_recipe(Kind.INT8)
    with pytest.raises(ValueError, match="Invalid recipe type: 'demo_fp32'"):
        ExportRecipe.get_recipe("demo_fp32")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"Backend 'other' not available. Available: \['demo'\]"):
        recipe_registry.create_recipe(Kind.FP32, "other")

    class Nameless(RecipeType):
        A = "a"

    with pytest.raises(NotImplementedError, match="Nameless must define the class method get_backend_name"):
        ExportRecipe.get_recipe(Nameless.A)


def test_combined_recipes_keep_every_list_in_order() -> None:
    one = ExportRecipe("a", QuantizationRecipe(["q1"]), ["t1"], LoweringRecipe(["p1"], ["e1"]))  # type: ignore[list-item]
    two = ExportRecipe("b", QuantizationRecipe(None, ["c2"]), None, LoweringRecipe(["p2"], ["e2"], ["m2"]))  # type: ignore[list-item]
    both = ExportRecipe.combine([one, two])
    assert both.name == "a_b" and both.aten_transform_passes == ["t1"]
    assert both.quantization_recipe == QuantizationRecipe(["q1"], ["c2"])
    assert both.lowering_recipe == LoweringRecipe(["p1", "p2"], ["e1", "e2"], ["m2"])
    assert ExportRecipe.combine([one, two], "phone").name == "phone"
    assert ExportRecipe.combine([one]) == one


def test_combined_recipes_lose_nothing_without_a_word() -> None:
    strict, loose = ExportRecipe("a"), ExportRecipe("b", mode=Mode.DEBUG, strict=False)
    both = ExportRecipe.combine([strict, loose])
    assert both.mode == Mode.DEBUG and both.strict is False and both.lowering_recipe is None
    stages = [StageType.TORCH_EXPORT]
    assert ExportRecipe.combine([strict, ExportRecipe("b", pipeline_stages=stages)]).pipeline_stages == stages
    with pytest.raises(ValueError, match="a, b cannot be combined: they have different values of pipeline_stages"):
        ExportRecipe.combine(
            [ExportRecipe("a", pipeline_stages=[StageType.TO_EDGE]), ExportRecipe("b", pipeline_stages=stages)]
        )
    configs = [ExecutorchBackendConfig(extract_delegate_segments=flag) for flag in (True, False)]
    with pytest.raises(ValueError, match="different values of executorch_backend_config"):
        ExportRecipe.combine([ExportRecipe(n, executorch_backend_config=c) for n, c in zip("ab", configs, strict=True)])
    with pytest.raises(ValueError, match="Recipes cannot be empty"):
        ExportRecipe.combine([])


def test_combined_compile_configs_allow_what_one_of_them_allows() -> None:
    configs = [EdgeCompileConfig(_check_ir_validity=False), EdgeCompileConfig(_skip_dim_order=True)]
    recipes = [ExportRecipe(lowering_recipe=LoweringRecipe(edge_compile_config=c)) for c in configs]
    lowering = ExportRecipe.combine(recipes).lowering_recipe
    assert lowering is not None and lowering.edge_compile_config is not None
    assert lowering.edge_compile_config._check_ir_validity is False
    assert lowering.edge_compile_config._skip_dim_order is True


def test_target_recipes_name_the_targets_and_what_is_missing() -> None:
    with pytest.raises(
        ValueError, match=r"Unsupported iOS configuration: 'ios-x'. Supported: \[.*\], which the installed backends"
    ):
        get_ios_recipe("ios-x")
    with pytest.raises(ValueError, match="Unsupported Android configuration: 'x'"):
        get_android_recipe("x")


def test_not_inside_of_meta() -> None:
    assert is_fbcode() is False
