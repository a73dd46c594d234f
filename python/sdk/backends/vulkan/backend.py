# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of Vulkan (`sdk.backends.registry`)."""

from __future__ import annotations

from sdk.backends.registry import Backend

BACKEND = Backend(
    name="vulkan",
    id="VulkanBackend",
    about="GPUs, those of Android devices above all",
    partitioner="sdk.backends.vulkan.partitioner.vulkan_partitioner:VulkanPartitioner",
)
