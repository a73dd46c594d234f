# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of VGF (`sdk.backends.registry`)."""

from __future__ import annotations

from sdk.backends.registry import Backend

BACKEND = Backend(
    name="vgf",
    id="VgfBackend",
    about="GPUs with Vulkan's extensions for tensors and data graphs, by Arm's VGF files",
    partitioner="sdk.backends.arm.vgf.partitioner:VgfPartitioner",
    packages=("ai_ml_sdk_model_converter==0.9.0",),
)
