# SPDX-License-Identifier: BSD-3-Clause
"""`VulkanPartitioner` delegates parts of a model to GPUs through Vulkan."""

from __future__ import annotations

from sdk.extras import lazily

_EXPORTS = {
    "VulkanBackend": "sdk.backends.vulkan.vulkan_preprocess",
    "VulkanPartitioner": "sdk.backends.vulkan.partitioner.vulkan_partitioner",
}

__all__ = sorted(_EXPORTS)
__getattr__ = lazily(globals(), _EXPORTS)
