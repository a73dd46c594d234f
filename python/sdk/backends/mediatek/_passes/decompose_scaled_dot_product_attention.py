# SPDX-License-Identifier: BSD-3-Clause
"""`DecomposeScaledDotProductAttention`, which several backends share."""

from __future__ import annotations

from sdk.backends.transforms.decompose_sdpa import DecomposeScaledDotProductAttention

__all__ = ["DecomposeScaledDotProductAttention"]
