# SPDX-License-Identifier: BSD-3-Clause
"""Neutron's quantised types in torchao: int8 activations with zero points, symmetric int8 weights, and
int32 biases with the product of the scales of the input and of the weight."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node
from torchao.quantization.pt2e import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
)
from torchao.quantization.pt2e.quantizer import (
    DerivedQuantizationSpec,
    FixedQParamsQuantizationSpec,
    QuantizationSpec,
)

_EPS = 2**-12
"""The smallest scale of activations."""


def activation(is_qat: bool) -> QuantizationSpec:
    """An activation with its range."""
    observer: Any = (
        FusedMovingAvgObsFakeQuantize.with_args(observer=MovingAverageMinMaxObserver, eps=_EPS)
        if is_qat
        else HistogramObserver.with_args(eps=_EPS)
    )
    return QuantizationSpec(
        dtype=torch.int8,
        quant_min=-128,
        quant_max=127,
        qscheme=torch.per_tensor_affine,
        observer_or_fake_quant_ctr=observer,
    )


def symmetric(is_qat: bool) -> QuantizationSpec:
    """A tensor with the zero point 0: a weight with one scale, or an operand of a bmm of activations."""
    observer: Any = FakeQuantize.with_args(observer=MovingAverageMinMaxObserver) if is_qat else MinMaxObserver
    return QuantizationSpec(
        dtype=torch.int8,
        quant_min=-127,
        quant_max=127,
        qscheme=torch.per_tensor_symmetric,
        observer_or_fake_quant_ctr=observer,
    )


def channels(is_qat: bool, axis: int = 0) -> QuantizationSpec:
    """A weight of a convolution: a scale for each output channel, which is the dimension `axis`."""
    observer: Any = (
        FakeQuantize.with_args(observer=MovingAveragePerChannelMinMaxObserver, ch_axis=axis)
        if is_qat
        else PerChannelMinMaxObserver.with_args(ch_axis=axis)
    )
    return QuantizationSpec(
        dtype=torch.int8,
        quant_min=-127,
        quant_max=127,
        qscheme=torch.per_channel_symmetric,
        ch_axis=axis,
        observer_or_fake_quant_ctr=observer,
    )


def fixed(scale: float, zero_point: int) -> FixedQParamsQuantizationSpec:
    """A result whose range the operator determines."""
    return FixedQParamsQuantizationSpec(
        dtype=torch.int8,
        scale=scale,
        zero_point=zero_point,
        quant_min=-128,
        quant_max=127,
        qscheme=torch.per_tensor_affine,
    )


def bias(node: Node, source: Node, weight: Node, is_per_channel: bool, repeats: int = 1) -> DerivedQuantizationSpec:
    """The bias of a layer. The scales of the weight are repeated `repeats` times for it."""
    return DerivedQuantizationSpec(
        derived_from=[(source, node), (weight, node)],
        derive_qparams_fn=partial(_product_of_scales, repeats),
        dtype=torch.int32,
        quant_min=-(2**31) + 1,
        quant_max=2**31 - 1,
        qscheme=torch.per_channel_symmetric if is_per_channel else torch.per_tensor_symmetric,
        ch_axis=0 if is_per_channel else None,
    )


def _product_of_scales(repeats: int, observers: list[Any]) -> tuple[Tensor, Tensor]:
    scale = observers[0].calculate_qparams()[0] * observers[1].calculate_qparams()[0].repeat(repeats)
    return scale, torch.zeros_like(scale, dtype=torch.int64)
