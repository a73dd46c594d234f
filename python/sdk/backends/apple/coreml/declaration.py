# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of Core ML (`sdk.backends.registry`)."""

from __future__ import annotations

from sdk.backends.language_models import LanguageModels, Quantizer
from sdk.backends.registry import Backend, TargetRecipe, schemes

_C4W = "for weights in 4 bits, use backend.coreml.quantize=c4w"

BACKEND = Backend(
    name="coreml",
    id="CoreMLBackend",
    about="the CPU, the GPU and the Neural Engine of Apple's chips, by Core ML",
    partitioner="sdk.backends.apple.coreml.partition:CoreMLPartitioner",
    recipes="sdk.backends.apple.coreml.recipes:CoreMLRecipeProvider",
    float_recipe="coreml_fp16",
    quantization=schemes(
        int8=("coreml_pt2e_int8_static", "int8 weights and activations"),
        int8_weights=(
            "coreml_pt2e_int8_weight_only",
            "int8 weights of convolutions and linear layers; activations are float",
        ),
        int4_weights=(
            "coreml_torchao_int4_weight_only_per_group",
            "int4 weights of embeddings and linear layers in groups of 32; activations are float",
        ),
    ),
    targets={
        "ios-arm64-coreml-fp16": TargetRecipe(system="ios", recipe="coreml_fp16", rest_to_cpu=True),
        "ios-arm64-coreml-fp32": TargetRecipe(system="ios", recipe="coreml_fp32", rest_to_cpu=True),
        "ios-arm64-coreml-int8": TargetRecipe(system="ios", recipe="coreml_pt2e_int8_static"),
    },
    runner="sdk.backends.apple.coreml.verify.program:ReferenceProgram",
    runner_note="an interpreter in PyTorch, which is not Apple's arithmetic: run it on a device too",
    tolerance=5e-3,  # float16 with rounding after each operation
    models="sdk.backends.apple.coreml.extract:extract",
    operators="sdk.backends.apple.coreml.compiler.operators:OPERATORS",
    language_models=LanguageModels(
        settings="sdk.backends.apple.coreml.llm:CoreMLConfig",
        acted_on=("enable_state", "quantize", "ios", "compute_units"),
        arguments="sdk.backends.apple.coreml.llm:partitioner_arguments",
        quantizers={
            "coreml_c4w": Quantizer(make=None, instead=_C4W),
            "coreml_8a_c8w": Quantizer(make="sdk.backends.apple.coreml.llm:int8"),
            "coreml_8a_c4w": Quantizer(make=None, instead=_C4W),
            "coreml_baseline_8a_c8w": Quantizer(make="sdk.backends.apple.coreml.llm:baseline_int8"),
            "coreml_baseline_8a_c4w": Quantizer(make="sdk.backends.apple.coreml.llm:baseline_int4"),
        },
    ),
    packages=("coremltools==9.0",),
)
