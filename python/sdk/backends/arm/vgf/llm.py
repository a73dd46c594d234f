# SPDX-License-Identifier: BSD-3-Clause
"""Language models for VGF: its settings, which have no effect yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import List, Optional

from sdk.extension.llm.export.config.quantize_scope import QuantizeScope

# OmegaConf reads these annotations, and it takes `Optional[X]` and `List[X]` only.
# ruff: noqa: UP006, UP035, UP045

__all__ = ["VgfConfig", "VgfQuantizeScope"]

VgfQuantizeScope = QuantizeScope


@dataclass
class VgfConfig:
    """Arm VGF."""

    enabled: bool = False
    compile_spec: Optional[str] = "TOSA-1.0+INT"
    compiler_flags: List[str] = field(default_factory=list)
    quantize_scope: QuantizeScope = QuantizeScope.full
