# SPDX-License-Identifier: BSD-3-Clause
"""Quantising a captured model for XNNPACK, as short as it gets; docs/quantization.md has the whole story."""

from __future__ import annotations

from enum import Enum

import torch
from torch import Tensor
from torch.fx import GraphModule
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from sdk.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config


class QuantType(Enum):
    """Where the scales are, and when those of activations are found."""

    STATIC_PER_TENSOR = "one scale for all weights of an operator; activations by calibration"
    STATIC_PER_CHANNEL = "a scale for each output channel of the weights; activations by calibration"
    DYNAMIC_PER_CHANNEL = "a scale for each output channel of the weights; activations as they come"


def quantize(
    model: GraphModule,
    example_inputs: tuple[Tensor, ...],
    quant_type: QuantType = QuantType.STATIC_PER_CHANNEL,
) -> GraphModule:
    """Quantises what `torch.export.export(...).module()` returned, to 8 bits.

    The model runs once on the example inputs, which sets the scales of activations: give it real ones.
    """
    config = get_symmetric_quantization_config(
        is_per_channel=quant_type is not QuantType.STATIC_PER_TENSOR,
        is_dynamic=quant_type is QuantType.DYNAMIC_PER_CHANNEL,
    )
    prepared = prepare_pt2e(model, XNNPACKQuantizer().set_global(config))
    with torch.no_grad():
        prepared(*example_inputs)
    return convert_pt2e(prepared)
