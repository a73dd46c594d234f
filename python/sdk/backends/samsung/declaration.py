# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of Samsung (`sdk.backends.registry`)."""

from __future__ import annotations

from sdk.backends.registry import Backend, schemes

BACKEND = Backend(
    name="samsung",
    id="EnnBackend",
    about="Samsung's NPUs and DSPs in Exynos chips",
    partitioner="sdk.backends.samsung.partition.enn_partitioner:EnnPartitioner",
    recipes="sdk.backends.samsung.recipes:EnnRecipeProvider",
    float_recipe="samsung_fp32",
    quantization=schemes(int8=("samsung_a8w8", "int8 weights and activations")),
    operators="sdk.backends.samsung.operators:OPERATORS",
    runner="sdk.backends.samsung.verify:ReferenceProgram",
    runner_note=(
        "an interpreter in PyTorch, which is not Samsung's compiler and arithmetic: run the program on a device too"
    ),
    tolerance=0.05,  # integers are rounded at other steps than in PyTorch
)
