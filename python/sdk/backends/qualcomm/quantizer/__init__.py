# SPDX-License-Identifier: BSD-3-Clause
"""`QnnQuantizer` quantises models for QNN with torchao's PT2E."""

from __future__ import annotations

from sdk.backends.qualcomm.quantizer.quantizer import ModuleQConfig, QnnQuantizer, QuantDtype

__all__ = ["ModuleQConfig", "QnnQuantizer", "QuantDtype"]
