# SPDX-License-Identifier: BSD-3-Clause
"""`NeuropilotQuantizer` quantises models for MediaTek with torchao's PT2E."""

from __future__ import annotations

from sdk.backends.mediatek.quantizer.qconfig import Precision
from sdk.backends.mediatek.quantizer.quantizer import NeuropilotQuantizer

__all__ = ["NeuropilotQuantizer", "Precision"]
