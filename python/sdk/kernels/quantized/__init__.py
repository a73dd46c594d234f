# SPDX-License-Identifier: BSD-3-Clause
"""Registers with PyTorch every operator that the quantized kernel library has, so that exports and out-variant
conversions find them. Importing this module registers them."""

from __future__ import annotations

from sdk.exir.operator.quantized_kernel_ops import mixed_linear, mixed_mm

__all__ = ["mixed_linear", "mixed_mm"]
