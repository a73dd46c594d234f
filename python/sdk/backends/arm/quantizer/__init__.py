# SPDX-License-Identifier: BSD-3-Clause
"""Quantises models for Arm's backends with torchao's PT2E, which must be installed."""

from sdk.extras import lazily

_MODULE = "sdk.backends.arm.quantizer.arm_quantizer"
_PLACES = dict.fromkeys(
    (
        "EthosUQuantizer",
        "QuantizationConfig",
        "TOSAQuantizer",
        "VgfQuantizer",
        "get_symmetric_a16w8_quantization_config",
        "get_symmetric_quantization_config",
    ),
    _MODULE,
)
__all__ = sorted(_PLACES)
__getattr__ = lazily(globals(), _PLACES)
