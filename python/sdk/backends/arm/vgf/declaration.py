# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of VGF (`sdk.backends.registry`)."""

from __future__ import annotations

from sdk.backends.language_models import LanguageModels, Quantizer
from sdk.backends.registry import Backend, schemes

BACKEND = Backend(
    name="vgf",
    id="VgfBackend",
    about="GPUs with Vulkan's extensions for tensors and data graphs, by Arm's VGF files",
    partitioner="sdk.backends.arm.vgf.partitioner:VgfPartitioner",
    recipes="sdk.backends.arm.vgf.recipes:VgfRecipeProvider",
    float_recipe="vgf_fp32",
    quantization=schemes(
        int8=("vgf_int8", "int8 weights and activations"),
    ),
    operators="sdk.backends.arm.tosa.operators:OPERATORS",
    language_models=LanguageModels(
        settings="sdk.backends.arm.vgf.llm:VgfConfig",
        quantizers={"vgf_8a8w": Quantizer(make=None), "vgf_16a8w": Quantizer(make=None)},
    ),
    packages=("ai_ml_sdk_model_converter==0.9.0",),
)
