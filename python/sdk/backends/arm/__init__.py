# SPDX-License-Identifier: BSD-3-Clause
"""Arm's backends: TOSA (the operator set that they share), VGF (its file format for GPUs) and Ethos-U NPUs."""

from __future__ import annotations

from sdk.extras import lazily

_EXPORTS = {
    "EthosUBackend": "sdk.backends.arm.ethosu",
    "EthosUCompileSpec": "sdk.backends.arm.ethosu",
    "EthosUPartitioner": "sdk.backends.arm.ethosu",
    "EthosUQuantizer": "sdk.backends.arm.quantizer",
    "VgfBackend": "sdk.backends.arm.vgf",
    "VgfCompileSpec": "sdk.backends.arm.vgf",
    "VgfPartitioner": "sdk.backends.arm.vgf",
    "VgfQuantizer": "sdk.backends.arm.quantizer",
    "get_symmetric_a16w8_quantization_config": "sdk.backends.arm.quantizer",
    "get_symmetric_quantization_config": "sdk.backends.arm.quantizer",
}

__all__ = sorted(_EXPORTS)
__getattr__ = lazily(globals(), _EXPORTS)
