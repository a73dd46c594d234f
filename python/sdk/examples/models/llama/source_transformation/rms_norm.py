# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's norm; the definition is that of `sdk.extension.llm.model.norm`."""

from sdk.extension.llm.model.norm import replace_rms_norm_with_native_rms_norm

__all__ = ["replace_rms_norm_with_native_rms_norm"]
