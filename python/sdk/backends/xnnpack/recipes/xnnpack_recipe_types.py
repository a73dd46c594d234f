# SPDX-License-Identifier: BSD-3-Clause
"""The names of the recipes for XNNPACK."""

from __future__ import annotations

from sdk.export.recipe import RecipeType


class XNNPackRecipeType(RecipeType):
    """Recipes for PT2E are calibrated with the example inputs; recipes for torchao replace weights of the module."""

    FP32 = "xnnpack_fp32"
    FP16 = "xnnpack_fp16"
    PT2E_INT8_DYNAMIC_PER_CHANNEL = "xnnpack_pt2e_int8_dynamic_per_channel"
    PT2E_INT8_STATIC_PER_CHANNEL = "xnnpack_pt2e_int8_static_per_channel"
    PT2E_INT8_STATIC_PER_TENSOR = "xnnpack_pt2e_int8_static_per_tensor"
    TORCHAO_INT8_DYNAMIC_ACT_INT4_WEIGHT_PER_CHANNEL = "xnnpack_torchao_int8da_int4w_per_channel"
    TORCHAO_INT8_DYNAMIC_ACT_INT4_WEIGHT_PER_TENSOR = "xnnpack_torchao_int8da_int4w_per_tensor"

    @classmethod
    def get_backend_name(cls) -> str:
        return "xnnpack"
