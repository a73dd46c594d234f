# SPDX-License-Identifier: BSD-3-Clause
"""`EnnQuantizer` quantises models for Samsung with torchao's PT2E."""

from __future__ import annotations

from sdk.backends.samsung.quantizer.qconfig import Precision
from sdk.backends.samsung.quantizer.quantizer import EnnQuantizer

__all__ = ["EnnQuantizer", "Precision"]
