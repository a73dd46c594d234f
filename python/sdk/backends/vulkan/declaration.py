# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of Vulkan (`sdk.backends.registry`)."""

from __future__ import annotations

from sdk.backends.language_models import LanguageModels, Quantizer
from sdk.backends.registry import Backend, schemes

BACKEND = Backend(
    name="vulkan",
    id="VulkanBackend",
    about="GPUs, above all in Android devices",
    partitioner="sdk.backends.vulkan.partitioner.vulkan_partitioner:VulkanPartitioner",
    recipes="sdk.backends.vulkan.recipes:VulkanRecipeProvider",
    float_recipe="vulkan_fp32",
    quantization=schemes(
        int8_weights=("vulkan_pt2e_int8_weights", "int8 weights of linear layers; activations are float"),
        int8_dynamic=(
            "vulkan_pt2e_int8_dynamic",
            "int8 weights of linear layers; activations are rounded to int8 when the program runs",
        ),
        int4_weights=(
            "vulkan_torchao_int4_weights",
            "int4 weights of linear layers in groups of 32; activations are float",
        ),
        int4=(
            "vulkan_torchao_int8da_int4_weights",
            "int4 weights of linear layers in groups of 32; activations as with int8-dynamic",
        ),
    ),
    operators="sdk.backends.vulkan.operators:OPERATORS",
    language_models=LanguageModels(
        settings="sdk.backends.vulkan.llm:VulkanConfig",
        acted_on=("force_fp16",),
        arguments="sdk.backends.vulkan.llm:partitioner_arguments",
        quantizers={"vulkan_8w": Quantizer(make="sdk.backends.vulkan.llm:int8_weights")},
    ),
)
