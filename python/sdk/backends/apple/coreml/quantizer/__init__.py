# SPDX-License-Identifier: BSD-3-Clause
"""`CoreMLQuantizer`, which annotates graphs for torchao's PT2E."""

from __future__ import annotations

from sdk.backends.apple.coreml.quantizer.coreml_quantizer import CoreMLQuantizer

__all__ = ["CoreMLQuantizer"]
