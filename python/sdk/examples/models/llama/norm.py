# SPDX-License-Identifier: BSD-3-Clause
"""Norms; the definitions are those of `sdk.extension.llm.model.norm`."""

from sdk.extension.llm.model.norm import RMSNorm, ScalelessRMSNorm

__all__ = ["RMSNorm", "ScalelessRMSNorm"]
