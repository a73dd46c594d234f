# SPDX-License-Identifier: BSD-3-Clause
"""The names of the recipes for Core ML."""

from __future__ import annotations

from sdk.export.recipe import RecipeType

COREML_BACKEND = "coreml"


class CoreMLRecipeType(RecipeType):
    """Recipes for PT2E run the model on the example inputs; those for torchao and codebooks quantise the weights of the
    module with torchao; FP32 and FP16 quantise nothing."""

    FP32 = "coreml_fp32"
    FP16 = "coreml_fp16"
    PT2E_INT8_STATIC = "coreml_pt2e_int8_static"
    PT2E_INT8_WEIGHT_ONLY = "coreml_pt2e_int8_weight_only"
    TORCHAO_INT4_WEIGHT_ONLY_PER_CHANNEL = "coreml_torchao_int4_weight_only_per_channel"
    TORCHAO_INT4_WEIGHT_ONLY_PER_GROUP = "coreml_torchao_int4_weight_only_per_group"
    TORCHAO_INT8_WEIGHT_ONLY_PER_CHANNEL = "coreml_torchao_int8_weight_only_per_channel"
    TORCHAO_INT8_WEIGHT_ONLY_PER_GROUP = "coreml_torchao_int8_weight_only_per_group"
    CODEBOOK_WEIGHT_ONLY = "coreml_codebook_weight_only"

    @classmethod
    def get_backend_name(cls) -> str:
        """The backend of the recipes."""
        return COREML_BACKEND
