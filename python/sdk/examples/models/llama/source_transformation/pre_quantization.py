# SPDX-License-Identifier: BSD-3-Clause
"""Layers of checkpoints that are quantised already; the definitions are those of `sdk.extension.llm`."""

from sdk.extension.llm.export.quantize.handlers import (
    sanitize_checkpoint_from_pre_quantization,
    transform_embedding_for_pre_quantization,
    transform_linear_for_pre_quantization,
    transform_output_linear_for_pre_quantization,
)
from sdk.extension.llm.model.quantized_layers import WeightOnlyInt4Linear

__all__ = [
    "WeightOnlyInt4Linear",
    "sanitize_checkpoint_from_pre_quantization",
    "transform_embedding_for_pre_quantization",
    "transform_linear_for_pre_quantization",
    "transform_output_linear_for_pre_quantization",
]
