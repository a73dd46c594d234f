# SPDX-License-Identifier: BSD-3-Clause
"""The earlier name of `sdk.backends.graph.quantized`."""

from __future__ import annotations

from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import DEQUANTIZE_AFFINE, DYNAMIC, TORCHAO, dynamic_chain, dynamic_source

__all__ = ["DEQUANTIZE_AFFINE", "DYNAMIC", "TORCHAO", "dynamic_chain", "dynamic_source", "name_of"]
