# SPDX-License-Identifier: BSD-3-Clause
"""The recipes of OpenVINO: floats, and one for each `QuantizationMode`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sdk.backends.recipes import BackendRecipes
from sdk.export.recipe import QuantizationRecipe, RecipeType


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


class OpenvinoRecipeProvider(BackendRecipes):
    """Recipes have the options `device` ("CPU" by default) and `include_ir`, those with int4 also `group_size`."""

    types = OpenvinoRecipeType

    def options(self, recipe_type: OpenvinoRecipeType) -> Sequence[str]:
        return ("device", "include_ir", *(("group_size",) if "int4" in recipe_type.value else ()))

    def partitioner(self, recipe_type: OpenvinoRecipeType, options: Mapping[str, Any]) -> Any:
        from sdk.backends.openvino.partitioner import OpenvinoPartitioner
        from sdk.exir.backend.compile_spec_schema import CompileSpec

        device = CompileSpec("device", options.get("device", "CPU").encode())
        return OpenvinoPartitioner([device], include_ir=options.get("include_ir", False))

    def quantization(self, recipe_type: OpenvinoRecipeType, options: Mapping[str, Any]) -> QuantizationRecipe | None:
        if recipe_type is OpenvinoRecipeType.FP32:
            return None
        from sdk.backends.openvino.quantizer import OpenVINOQuantizer, QuantizationMode

        groups = {"group_size": options["group_size"]} if "group_size" in options else {}
        mode = QuantizationMode(recipe_type.value.removeprefix("openvino_"))
        return QuantizationRecipe(quantizers=[OpenVINOQuantizer(mode=mode, **groups)])
