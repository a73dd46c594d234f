# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of Cadence (`sdk.backends.registry`)."""

from __future__ import annotations

from sdk.backends.registry import Backend, schemes

BACKEND = Backend(
    name="cadence",
    id="cadence",
    about="Cadence's DSPs, by kernels that are portable C++ here",
    partitioner=None,
    recipes="sdk.backends.cadence.recipes:CadenceRecipeProvider",
    float_recipe="cadence_fp32",
    quantization=schemes(int8=("cadence_int8", "weights and activations, by CadenceDefaultQuantizer")),
    packages=("torchao",),
)
