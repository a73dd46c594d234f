# SPDX-License-Identifier: BSD-3-Clause
"""`VulkanPartitioner` delegates parts of a model to GPUs through Vulkan."""
