# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of MediaTek (`sdk.backends.registry`)."""

from __future__ import annotations

from sdk.backends.registry import Backend, QuantizationScheme, schemes


def _scheme(activations: int, weights: int) -> QuantizationScheme:
    return QuantizationScheme(
        recipe=f"mediatek_a{activations}w{weights}",
        weights=f"int{weights}",
        activations=f"int{activations}",
        about=f"int{weights} weights and int{activations} activations",
        calibrated=True,
    )


BACKEND = Backend(
    name="mediatek",
    id="NeuropilotBackend",
    about="MediaTek's NPUs, by NeuroPilot",
    partitioner="sdk.backends.mediatek.partitioner:NeuropilotPartitioner",
    recipes="sdk.backends.mediatek.recipes:NeuropilotRecipeProvider",
    float_recipe="mediatek_fp32",
    quantization={
        **schemes(int8=("mediatek_a8w8", "int8 weights and activations")),
        **{f"a{a}w{w}": _scheme(a, w) for a, w in ((16, 16), (16, 8), (16, 4), (8, 4))},
    },
    operators="sdk.backends.mediatek.operators:OPERATORS",
    runner="sdk.backends.mediatek.verify:ReferenceProgram",
    runner_note="an interpreter in PyTorch, which is not MediaTek's compiler and arithmetic: run it on a device too",
    tolerance=0.05,  # integers are rounded at other steps than in PyTorch
)
