# SPDX-License-Identifier: BSD-3-Clause
"""Which nodes quantise."""

from __future__ import annotations

from torch.fx import Node

from sdk.backends.transforms.dynamic_quantization import DEQUANTIZE_AFFINE, DYNAMIC, TORCHAO, name_of
from sdk.backends.xnnpack.quantization import QUANTIZE
from sdk.backends.xnnpack.weights import NAMES

_QUANTIZE = {QUANTIZE, "quantized_decomposed.quantize_per_channel.default", TORCHAO[1]} | {n[1] for n in DYNAMIC}
_DEQUANTIZE = {*NAMES, DEQUANTIZE_AFFINE} | {names[2] for names in DYNAMIC}


def is_quant(node: Node) -> bool:
    """Whether a node turns floats into quantised integers."""
    return name_of(node) in _QUANTIZE


def is_dequant(node: Node) -> bool:
    """Whether a node turns quantised integers into floats."""
    return name_of(node) in _DEQUANTIZE
