# SPDX-License-Identifier: BSD-3-Clause
"""Quantises a captured model for XNNPACK with little code; docs/quantization.md explains the details."""

from __future__ import annotations

from enum import Enum

import torch
from torch import Tensor
from torch.fx import GraphModule
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from sdk.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config


class QuantType(Enum):
    """The granularity of scales, and whether those of activations are computed at run time."""

    STATIC_PER_TENSOR = "one scale for all weights of an operator; activations by calibration"
    STATIC_PER_CHANNEL = "a scale for each output channel of the weights; activations by calibration"
    DYNAMIC_PER_CHANNEL = "a scale for each output channel of the weights; activations at run time"


def quantize(
    model: GraphModule,
    example_inputs: tuple[Tensor, ...],
    quant_type: QuantType = QuantType.STATIC_PER_CHANNEL,
) -> GraphModule:
    """Quantises the module that `torch.export.export(...).module()` returned to int8.

    The model runs once on the example inputs, which sets the scales of activations: use realistic inputs.
    """
    config = get_symmetric_quantization_config(
        is_per_channel=quant_type is not QuantType.STATIC_PER_TENSOR,
        is_dynamic=quant_type is QuantType.DYNAMIC_PER_CHANNEL,
    )
    prepared = prepare_pt2e(model, XNNPACKQuantizer().set_global(config))
    with torch.no_grad():
        prepared(*example_inputs)
    return convert_pt2e(prepared)
