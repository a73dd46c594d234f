# SPDX-License-Identifier: BSD-3-Clause
"""The configurations of Arm's quantizers."""

from __future__ import annotations

import dataclasses

import torch
from torchao.quantization.pt2e.quantizer import QuantizationConfig

from sdk.backends.arm.tosa.specification import INT4_LIMITS
from sdk.backends.quantizer.configuration import symmetric_configuration

_INT16_LIMIT = 32767


def get_symmetric_quantization_config(
    is_per_channel: bool = True,
    is_qat: bool = False,
    is_dynamic: bool = False,
    act_qmin: int = -128,
    act_qmax: int = 127,
    weight_qmin: int = -127,
    weight_qmax: int = 127,
    eps: float = 2**-16,
) -> QuantizationConfig:
    """Symmetric int8 weights, int8 activations with a zero point.

    Args:
        is_per_channel: Weights have a scale for each output channel instead of one.
        is_qat: Whether the model is prepared for training, with `prepare_qat_pt2e`.
        is_dynamic: Activations of linear layers get their scale when the model runs, and results are floats.
        act_qmin, act_qmax: The range of activations as integers.
        weight_qmin, weight_qmax: The range of weights as integers; -7 and 7 for int4 weights.
        eps: The smallest scale.
    """
    return symmetric_configuration(
        is_per_channel, is_qat, is_dynamic, act_qmin, act_qmax, weight_qmin, weight_qmax, eps=eps
    )


def get_symmetric_a8w4_quantization_config(
    is_per_channel: bool = True, is_qat: bool = True, is_dynamic: bool = False
) -> QuantizationConfig:
    """Weights from -7 to 7, for training unless `is_qat` is False; otherwise as `get_symmetric_quantization_config`."""
    low, high = INT4_LIMITS
    return get_symmetric_quantization_config(is_per_channel, is_qat, is_dynamic, weight_qmin=low, weight_qmax=high)


def get_symmetric_a16w8_quantization_config(
    is_per_channel: bool = True,
    is_qat: bool = False,
    is_dynamic: bool = False,
    weight_qmin: int = -127,
    weight_qmax: int = 127,
    epsilon: float = 2**-12,
) -> QuantizationConfig:
    """Symmetric int8 weights, symmetric int16 activations, which need TOSA's extension int16. `epsilon` is the smallest
    scale; the other arguments are those of `get_symmetric_quantization_config`."""
    config = get_symmetric_quantization_config(
        is_per_channel, is_qat, is_dynamic, weight_qmin=weight_qmin, weight_qmax=weight_qmax, eps=epsilon
    )
    wide = dataclasses.replace(
        config.input_activation,
        dtype=torch.int16,
        quant_min=-_INT16_LIMIT,
        quant_max=_INT16_LIMIT,
        qscheme=torch.per_tensor_symmetric,
    )
    return dataclasses.replace(config, input_activation=wide, output_activation=None if is_dynamic else wide)
