# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of Vulkan (`sdk.backends.registry`)."""

from __future__ import annotations

from sdk.backends.language_models import LanguageModels, Quantizer
from sdk.backends.registry import Backend, QuantizationScheme

BACKEND = Backend(
    name="vulkan",
    id="VulkanBackend",
    about="GPUs, those of Android devices above all",
    partitioner="sdk.backends.vulkan.partitioner.vulkan_partitioner:VulkanPartitioner",
    recipes="sdk.backends.vulkan.recipes:VulkanRecipeProvider",
    float_recipe="vulkan_fp32",
    quantization={
        "int8-weights": QuantizationScheme(
            recipe="vulkan_pt2e_int8_weights",
            weights="int8",
            activations="float",
            about="int8 weights of linear layers; floats compute",
        ),
        "int8-dynamic": QuantizationScheme(
            recipe="vulkan_pt2e_int8_dynamic",
            weights="int8",
            activations="int8 dynamic",
            about="int8 weights of linear layers; activations are rounded to int8 when the program runs",
        ),
        "int4-weights": QuantizationScheme(
            recipe="vulkan_torchao_int4_weights",
            weights="int4",
            activations="float",
            about="int4 weights of linear layers in groups of 32; floats compute",
        ),
        "int4": QuantizationScheme(
            recipe="vulkan_torchao_int8da_int4_weights",
            weights="int4",
            activations="int8 dynamic",
            about="int4 weights of linear layers in groups of 32; activations as with int8-dynamic",
        ),
    },
    language_models=LanguageModels(
        settings="sdk.backends.vulkan.llm:VulkanConfig",
        acted_on=("force_fp16",),
        arguments="sdk.backends.vulkan.llm:partitioner_arguments",
        quantizers={"vulkan_8w": Quantizer(make="sdk.backends.vulkan.llm:int8_weights")},
    ),
)
