# SPDX-License-Identifier: BSD-3-Clause
"""Language models for Vulkan: the settings, and the arguments of partitioner and quantizer that they determine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sdk.extension.llm.export.config.llm_config import LlmConfig

__all__ = ["VulkanConfig"]


@dataclass
class VulkanConfig:
    """Vulkan."""

    enabled: bool = False
    force_fp16: bool = False


def partitioner_arguments(settings: VulkanConfig, config: LlmConfig) -> dict[str, Any]:
    """The arguments of the partitioner. With `force_fp16`, floats are float16."""
    return {"compile_options": {"force_fp16": True} if settings.force_fp16 else {}}


def int8_weights() -> Any:
    """int8 weights of linear layers; activations are float."""
    from sdk.backends.vulkan.quantizer.vulkan_quantizer import VulkanQuantizer, get_symmetric_quantization_config

    return VulkanQuantizer().set_global(get_symmetric_quantization_config(weight_bits=8))
