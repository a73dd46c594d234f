# SPDX-License-Identifier: BSD-3-Clause
"""The configurations of int8 that the kernels of cortex_m compute: activations with a zero point, symmetric weights."""

from __future__ import annotations

import torch
from torchao.quantization.pt2e.quantizer import FixedQParamsQuantizationSpec

from sdk.backends.cortex_m.ops.softmax import OUTPUT_SCALE, OUTPUT_ZERO_POINT
from sdk.backends.quantizer.configuration import symmetric_configuration

_RANGE = (-128, 127)
_EPS = 2.0**-16

INT8_PER_CHANNEL_CONFIG = symmetric_configuration(True, False, False, *_RANGE, -127, 127, eps=_EPS)
"""For convolutions."""
INT8_PER_TENSOR_CONFIG = symmetric_configuration(False, False, False, *_RANGE, -127, 127, eps=_EPS)
"""For linear layers, and for operators without weights."""
SOFTMAX_OUTPUT_FIXED_QSPEC = FixedQParamsQuantizationSpec(
    dtype=torch.int8,
    scale=OUTPUT_SCALE,
    zero_point=OUTPUT_ZERO_POINT,
    quant_min=_RANGE[0],
    quant_max=_RANGE[1],
    qscheme=torch.per_tensor_affine,
)
"""For probabilities."""
