# SPDX-License-Identifier: BSD-3-Clause
"""ExecuTorch's module of `QuantizationConfig`."""

from __future__ import annotations

from torchao.quantization.pt2e.quantizer.utils import OperatorConfig, OperatorPatternType, QuantizationConfig

__all__ = ["OperatorConfig", "OperatorPatternType", "QuantizationConfig"]
