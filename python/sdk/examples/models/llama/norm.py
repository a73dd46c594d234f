# SPDX-License-Identifier: BSD-3-Clause
"""Norms; the definitions are those of `sdk.extension.llm.model.norm` and of a backend."""

from sdk.backends.apple.coreml.attention import RMSNormCoreML, replace_rms_norm_for_coreml_
from sdk.extension.llm.model.norm import RMSNorm, RMSNormGated, RMSNormWithInputScale, ScalelessRMSNorm

__all__ = [
    "RMSNorm",
    "RMSNormCoreML",
    "RMSNormGated",
    "RMSNormWithInputScale",
    "ScalelessRMSNorm",
    "replace_rms_norm_for_coreml_",
]
