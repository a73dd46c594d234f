# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of Cortex-M (`sdk.backends.registry`)."""

from __future__ import annotations

from sdk.backends.registry import Backend, schemes

BACKEND = Backend(
    name="cortex-m",
    id="cortex_m",
    about="Arm's Cortex-M, by integer kernels",
    partitioner=None,
    recipes="sdk.backends.cortex_m.recipes:CortexMRecipeProvider",
    quantization=schemes(int8=("cortex_m_int8", "weights and activations, in the arithmetic of CMSIS-NN")),
)
