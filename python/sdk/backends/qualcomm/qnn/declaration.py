# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of QNN (`sdk.backends.registry`)."""

from __future__ import annotations

from sdk.backends.language_models import LanguageModels, Quantizer
from sdk.backends.registry import Backend, QuantizationScheme, schemes


def _scheme(activations: int, weights: int) -> QuantizationScheme:
    return QuantizationScheme(
        recipe=f"qnn_{activations}a{weights}w",
        weights=f"int{weights}",
        activations=f"int{activations}",
        about=f"{weights}-bit weights and {activations}-bit activations",
        calibrated=True,
    )


BACKEND = Backend(
    name="qnn",
    id="QnnBackend",
    about="Qualcomm's NPUs, by AI Engine Direct",
    partitioner="sdk.backends.qualcomm.partition.qnn_partitioner:default_partitioner",
    recipes="sdk.backends.qualcomm.recipes.qnn_recipe_provider:QNNRecipeProvider",
    float_recipe="qnn_fp16",
    quantization={
        **schemes(
            int8=("qnn_8a8w", "int8 weights and activations"),
            int8_weights=("qnn_fp16a8w", "int8 weights of convolutions and linear layers"),
        ),
        **{f"a{a}w{w}": _scheme(a, w) for a, w in ((16, 16), (16, 8), (16, 4), (16, 2), (8, 4))},
    },
    operators="sdk.backends.qualcomm.qnn.operators:OPERATORS",
    language_models=LanguageModels(
        settings="sdk.backends.qualcomm.qnn.llm:QNNConfig",
        acted_on=("soc_model",),
        arguments="sdk.backends.qualcomm.qnn.llm:partitioner_arguments",
        quantizers={
            f"qnn_{scheme}": Quantizer(make=f"sdk.backends.qualcomm.qnn.llm:quantizer_{scheme}")
            for scheme in ("8a8w", "16a16w", "16a4w")
        },
    ),
    runner="sdk.backends.qualcomm.qnn.verify:ReferenceProgram",
    runner_note="an interpreter in PyTorch, which is not Qualcomm's compiler and arithmetic: run it on a device too",
    tolerance=0.05,  # integers are rounded at other steps than in PyTorch
)
