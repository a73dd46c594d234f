# SPDX-License-Identifier: BSD-3-Clause
"""From coremltools' `ModuleLinearQuantizerConfig` to the configuration of torchao's PT2E."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torchao.quantization.pt2e import (
    FakeQuantize,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
)
from torchao.quantization.pt2e.quantizer import QuantizationConfig, QuantizationSpec

_DTYPES = {torch.quint8: torch.uint8, torch.qint8: torch.int8}
"""The dtypes of captured graphs."""

_OBSERVERS = {
    "min_max": (MinMaxObserver, PerChannelMinMaxObserver),
    "moving_average_min_max": (MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver),
}
"""Observers with one range for a tensor, and with one for each channel."""


def configuration(module: Any) -> QuantizationConfig | None:
    """The configuration of a `ModuleLinearQuantizerConfig`; None if it leaves weights in floats.

    Raises:
        ValueError: it asks for what PT2E's flow does not have.
    """
    if module is None or module.weight_dtype == torch.float32:
        return None
    if module.algorithm != "vanilla":
        raise ValueError(f'algorithm is {module.algorithm!r}; PT2E has "vanilla"')
    if module.weight_n_bits != 8:
        raise ValueError(
            f"weights have {module.weight_n_bits} bits; PT2E has 8. For 4 bits, quantise with "
            "torchao.quantization.quantize_ and IntxWeightOnlyConfig before the export"
        )
    for name in ("activation_observer", "weight_observer"):
        observer = getattr(module, name).value
        if observer not in _OBSERVERS:
            raise ValueError(f"{name} is {observer}; expected one of {', '.join(_OBSERVERS)}")
    return _configuration(
        module.quantization_scheme.value,
        None if module.activation_dtype == torch.float32 else module.activation_dtype,
        module.activation_observer.value,
        module.weight_dtype,
        module.weight_observer.value,
        module.weight_per_channel,
    )


@functools.cache  # torchao compares configurations by the identity of their observers
def _configuration(
    scheme: str,
    activation: torch.dtype | None,
    activation_observer: str,
    weight: torch.dtype,
    weight_observer: str,
    per_channel: bool,
) -> QuantizationConfig:
    outputs = None if activation is None else _spec(activation, activation_observer, scheme, False)
    # Fake quantisation serves calibration and training, and batch norms are there in training only.
    return QuantizationConfig(outputs, outputs, _spec(weight, weight_observer, scheme, per_channel), None, is_qat=True)


def _spec(dtype: torch.dtype, observer: str, scheme: str, per_channel: bool) -> QuantizationSpec:
    kind = getattr(torch, f"per_{'channel' if per_channel else 'tensor'}_{scheme}")
    return QuantizationSpec(
        dtype=_DTYPES[dtype],
        qscheme=kind,
        ch_axis=0 if per_channel else None,
        is_dynamic=False,
        observer_or_fake_quant_ctr=FakeQuantize.with_args(observer=_OBSERVERS[observer][per_channel]),
    )


@functools.cache
def with_zero_point(spec: QuantizationSpec) -> QuantizationSpec:
    """A specification of activations with one side of zero only, which keeps all integers for that side."""
    return QuantizationSpec(
        dtype=spec.dtype,
        qscheme=torch.per_tensor_affine,
        is_dynamic=False,
        observer_or_fake_quant_ctr=spec.observer_or_fake_quant_ctr,
    )
