# SPDX-License-Identifier: BSD-3-Clause
"""The quantizer of cortex_m, and its configurations."""

from sdk.backends.cortex_m.quantizer.quantization_configs import (
    INT8_PER_CHANNEL_CONFIG,
    INT8_PER_TENSOR_CONFIG,
    SOFTMAX_OUTPUT_FIXED_QSPEC,
)
from sdk.backends.cortex_m.quantizer.quantizer import CortexMQuantizer

__all__ = ["INT8_PER_CHANNEL_CONFIG", "INT8_PER_TENSOR_CONFIG", "SOFTMAX_OUTPUT_FIXED_QSPEC", "CortexMQuantizer"]
