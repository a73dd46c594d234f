# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of OpenVINO (`sdk.backends.registry`)."""

from __future__ import annotations

from sdk.backends.language_models import LanguageModels, Quantizer
from sdk.backends.registry import Backend, schemes

BACKEND = Backend(
    name="openvino",
    id="OpenvinoBackend",
    about="CPUs, GPUs and NPUs of Intel",
    partitioner="sdk.backends.openvino.partitioner:OpenvinoPartitioner",
    recipes="sdk.backends.openvino.recipes:OpenvinoRecipeProvider",
    float_recipe="openvino_fp32",
    quantization=schemes(
        int8=("openvino_int8_sym", "int8 weights and activations"),
        int8_weights=(
            "openvino_int8wo_sym",
            "int8 weights of convolutions, linear layers and embeddings; activations are float",
        ),
        int4_weights=("openvino_int4wo_sym", "int4 weights of linear layers in groups of 32; activations are float"),
    ),
    operators="sdk.backends.openvino.operators:OPERATORS",
    language_models=LanguageModels(
        settings="sdk.backends.openvino.llm:OpenvinoConfig",
        acted_on=("device",),
        arguments="sdk.backends.openvino.llm:partitioner_arguments",
        quantizers={
            "openvino_4wo": Quantizer(make="sdk.backends.openvino.llm:int4_weights", has_groups=True),
            "openvino_8wo": Quantizer(make="sdk.backends.openvino.llm:int8_weights"),
        },
    ),
    packages=("openvino==2025.4.1",),
)
