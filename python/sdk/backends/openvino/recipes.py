# SPDX-License-Identifier: BSD-3-Clause
"""The recipes of OpenVINO: floats, and one for each `QuantizationMode`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sdk.export.recipe import ExportRecipe, LoweringRecipe, QuantizationRecipe, RecipeType
from sdk.export.recipe_provider import BackendRecipeProvider


class OpenvinoRecipeType(RecipeType):
    """The names of the recipes."""

    FP32 = "openvino_fp32"
    INT8_SYM = "openvino_int8_sym"
    INT8_MIXED = "openvino_int8_mixed"
    INT8_TRANSFORMER = "openvino_int8_transformer"
    INT8WO_SYM = "openvino_int8wo_sym"
    INT8WO_ASYM = "openvino_int8wo_asym"
    INT4WO_SYM = "openvino_int4wo_sym"
    INT4WO_ASYM = "openvino_int4wo_asym"

    @classmethod
    def get_backend_name(cls) -> str:
        """The backend of the recipes."""
        return "openvino"


class OpenvinoRecipeProvider(BackendRecipeProvider):
    """Recipes have the options `device` ("CPU" by default) and `include_ir`, those with int4 also `group_size`."""

    @property
    def backend_name(self) -> str:
        return "openvino"

    def get_supported_recipes(self) -> Sequence[RecipeType]:
        return list(OpenvinoRecipeType)

    def create_recipe(self, recipe_type: RecipeType, **kwargs: Any) -> ExportRecipe | None:
        """Raises ValueError for options that the recipe does not have."""
        if not isinstance(recipe_type, OpenvinoRecipeType):
            return None
        known = {"device", "include_ir"} | ({"group_size"} if "int4" in recipe_type.value else set())
        if set(kwargs) - known:
            raise ValueError(
                f"{recipe_type.value} has no option {', '.join(sorted(set(kwargs) - known))}; it has "
                f"{', '.join(sorted(known))}"
            )
        return ExportRecipe(
            recipe_type.value,
            quantization_recipe=_quantization(recipe_type, kwargs),
            lowering_recipe=LoweringRecipe([_partitioner(**kwargs)]),
        )


def _partitioner(device: str = "CPU", include_ir: bool = False, group_size: int = 0) -> Any:
    from sdk.backends.openvino.partitioner import OpenvinoPartitioner
    from sdk.exir.backend.compile_spec_schema import CompileSpec

    return OpenvinoPartitioner([CompileSpec("device", device.encode())], include_ir=include_ir)


def _quantization(recipe_type: OpenvinoRecipeType, options: dict[str, Any]) -> QuantizationRecipe | None:
    if recipe_type is OpenvinoRecipeType.FP32:
        return None
    try:
        from sdk.backends.openvino.quantizer import OpenVINOQuantizer, QuantizationMode
    except ImportError as error:
        raise ValueError(
            f"{recipe_type.value} quantises, which needs the package `torchao` ({error}); install it with "
            f"`pip install torchao`"
        ) from error
    groups = {"group_size": options["group_size"]} if "group_size" in options else {}
    mode = QuantizationMode(recipe_type.value.removeprefix("openvino_"))
    return QuantizationRecipe(quantizers=[OpenVINOQuantizer(mode=mode, **groups)])
