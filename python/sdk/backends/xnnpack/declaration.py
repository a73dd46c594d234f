# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of XNNPACK (`sdk.backends.registry`)."""

from __future__ import annotations

from sdk.backends.language_models import LanguageModels, Quantizer
from sdk.backends.registry import Backend, schemes

BACKEND = Backend(
    name="xnnpack",
    id="XnnpackBackend",
    about="CPUs of phones, boards, desktops and servers",
    partitioner="sdk.backends.xnnpack.partition.xnnpack_partitioner:XnnpackPartitioner",
    recipes="sdk.backends.xnnpack.recipes:XNNPACKRecipeProvider",
    float_recipe="xnnpack_fp32",
    quantization=schemes(
        int8=("xnnpack_pt2e_int8_static_per_channel", "int8 weights and activations"),
        int8_dynamic=(
            "xnnpack_pt2e_int8_dynamic_per_channel",
            "int8 weights; activations are quantised to int8 when the program runs",
        ),
        int4=(
            "xnnpack_torchao_int8da_int4w_per_tensor",
            "int4 weights of linear layers in groups of 32; activations as with int8-dynamic",
        ),
    ),
    float16=True,
    memory_padding=64,  # its kernels load whole vectors
    default_on_cpu=True,
    operators="sdk.backends.xnnpack.partition.config:OPERATORS",
    language_models=LanguageModels(
        settings="sdk.backends.xnnpack.llm:XNNPackConfig",
        acted_on=("extended_ops",),
        arguments="sdk.backends.xnnpack.llm:partitioner_arguments",
        check="sdk.backends.xnnpack.llm:check",
        quantizers={
            "xnnpack_dynamic": Quantizer(make="sdk.backends.xnnpack.llm:dynamic_int8"),
            "xnnpack_dynamic_qc4": Quantizer(make="sdk.backends.xnnpack.llm:dynamic_int4"),
        },
        static_quantizer="sdk.backends.xnnpack.llm:static_quantizer",
    ),
)
