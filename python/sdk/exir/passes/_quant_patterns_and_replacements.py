# SPDX-License-Identifier: BSD-3-Clause
"""ExecuTorch's name of the modules `sdk.exir.operator.quantized_ops` and `sdk.exir.quantization.patterns`."""

from __future__ import annotations

from sdk.exir.operator.quantized_ops import quantized_decomposed_lib
from sdk.exir.quantization.patterns import _trace_and_lower_to_edge_ops

__all__ = ["_trace_and_lower_to_edge_ops", "quantized_decomposed_lib"]
