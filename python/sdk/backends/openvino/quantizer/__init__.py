# SPDX-License-Identifier: BSD-3-Clause
"""`OpenVINOQuantizer`, which annotates graphs for torchao's PT2E, and `quantize_model`, which quantises in one call."""

from __future__ import annotations

from sdk.backends.openvino.quantizer.calibration import quantize_model
from sdk.backends.openvino.quantizer.modes import QuantizationMode
from sdk.backends.openvino.quantizer.quantizer import OpenVINOQuantizer

__all__ = ["OpenVINOQuantizer", "QuantizationMode", "quantize_model"]
