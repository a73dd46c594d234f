# SPDX-License-Identifier: BSD-3-Clause
"""Configurations of quantizers for int8. torchao compares them by the identity of their observers, so that equal
arguments give the same object."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torchao.quantization.pt2e import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
)
from torchao.quantization.pt2e.quantizer import QuantizationConfig, QuantizationSpec

_RANGES = {
    False: (MinMaxObserver, PerChannelMinMaxObserver),
    True: (MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver),
}
"""Observers of the whole range and of its moving average, each with one range for a tensor and one for each channel."""


def symmetric_configuration(
    is_per_channel: bool,
    is_qat: bool,
    is_dynamic: bool,
    act_qmin: int,
    act_qmax: int,
    weight_qmin: int,
    weight_qmax: int,
    *,
    eps: float,
    moving_weights: bool = False,
) -> QuantizationConfig:
    """Symmetric int8 weights, int8 activations with a zero point; the `get_symmetric_quantization_config` of several
    backends.

    Args:
        is_per_channel: Weights have a scale for each output channel instead of one.
        is_qat: Whether the model is prepared for training, with `prepare_qat_pt2e`.
        is_dynamic: Activations get their scale when the model runs, and results are floats.
        act_qmin, act_qmax: The range of activations as integers.
        weight_qmin, weight_qmax: The range of weights as integers.
        eps: The smallest scale.
        moving_weights: Whether training finds the range of weights as a moving average, instead of the whole range.
    """
    activation = activations(act_qmin, act_qmax, is_qat=is_qat, is_dynamic=is_dynamic, eps=eps)
    weight = weights(
        weight_qmin, weight_qmax, is_per_channel=is_per_channel, is_qat=is_qat, eps=eps, moving=moving_weights
    )
    return QuantizationConfig(activation, None if is_dynamic else activation, weight, None, is_qat)


@functools.cache
def activations(
    low: int,
    high: int,
    *,
    eps: float,
    is_qat: bool = False,
    is_dynamic: bool = False,
    scheme: torch.qscheme = torch.per_tensor_affine,
) -> QuantizationSpec:
    """Activations as int8 from `low` to `high`; `eps` is the smallest scale."""
    if is_qat and is_dynamic:
        moving = MovingAverageMinMaxObserver.with_args(averaging_constant=1)
        observer: Any = FakeQuantize.with_args(observer=moving, eps=eps)
    elif is_qat:
        observer = FusedMovingAvgObsFakeQuantize.with_args(eps=eps)
    else:
        observer = (PlaceholderObserver if is_dynamic else HistogramObserver).with_args(eps=eps)
    return QuantizationSpec(
        dtype=torch.int8,
        quant_min=low,
        quant_max=high,
        qscheme=scheme,
        is_dynamic=is_dynamic,
        observer_or_fake_quant_ctr=observer,
    )


@functools.cache
def weights(
    low: int, high: int, *, eps: float, is_per_channel: bool = True, is_qat: bool = False, moving: bool = False
) -> QuantizationSpec:
    """Weights as int8 from `low` to `high`, symmetric around zero; `eps` is the smallest scale."""
    observer: Any = _RANGES[is_qat and moving][is_per_channel]
    if is_qat and moving:
        observer = FusedMovingAvgObsFakeQuantize.with_args(observer=observer, eps=eps)
    elif is_qat:
        observer = FakeQuantize.with_args(observer=observer, eps=eps)
    else:
        observer = observer.with_args(eps=eps)
    return QuantizationSpec(
        dtype=torch.int8,
        quant_min=low,
        quant_max=high,
        qscheme=torch.per_channel_symmetric if is_per_channel else torch.per_tensor_symmetric,
        ch_axis=0,
        is_dynamic=False,
        observer_or_fake_quant_ctr=observer,
    )


@functools.cache
def fake_quantized(
    dtype: torch.dtype, *, is_per_channel: bool = False, is_symmetric: bool = True, moving: bool = False
) -> QuantizationSpec:
    """A specification that uses the whole range of `dtype`, and fake quantisation in calibration and in training.

    Args:
        dtype: An integer of 8 bits.
        is_per_channel: There is a scale for each output channel.
        is_symmetric: The range is symmetric around zero.
        moving: The range is a moving average.
    """
    scheme = f"per_{'channel' if is_per_channel else 'tensor'}_{'symmetric' if is_symmetric else 'affine'}"
    return QuantizationSpec(
        dtype=dtype,
        qscheme=getattr(torch, scheme),
        ch_axis=0 if is_per_channel else None,
        is_dynamic=False,
        observer_or_fake_quant_ctr=FakeQuantize.with_args(observer=_RANGES[moving][is_per_channel]),
    )


@functools.cache
def with_zero_point(spec: QuantizationSpec) -> QuantizationSpec:
    """A specification for activations on one side of zero, with a zero point that uses all integers for that side."""
    return QuantizationSpec(
        dtype=spec.dtype,
        qscheme=torch.per_tensor_affine,
        is_dynamic=False,
        observer_or_fake_quant_ctr=spec.observer_or_fake_quant_ctr,
    )
