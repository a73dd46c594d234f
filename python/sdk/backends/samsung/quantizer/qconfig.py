# SPDX-License-Identifier: BSD-3-Clause
"""The precisions of Samsung's NPUs, as specifications of torchao."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, unique
from typing import Any

import torch
from torchao.quantization.pt2e import FakeQuantize, MinMaxObserver, PerChannelMinMaxObserver
from torchao.quantization.pt2e.quantizer import QuantizationSpec

_EPS = 2**-12
"""The smallest scale."""


@unique
class Precision(IntEnum):
    """The bits of activations (A) and of weights (W)."""

    A8W8 = 3


@dataclass(eq=True, frozen=True)
class QuantizationConfig:
    """The specifications of a layer's tensors; None for tensors that stay float.

    Attributes:
        input_activation: Its input.
        output_activation: Its result.
        weight: Its weight.
        bias: Its bias.
    """

    input_activation: QuantizationSpec | None
    output_activation: QuantizationSpec | None
    weight: QuantizationSpec | None
    bias: QuantizationSpec | Callable[..., Any] | None


def precision_of(given: Precision | str | int) -> Precision:
    """A precision by its name or number. Raises ValueError for others."""
    for precision in Precision:
        if given in (precision, precision.name):
            return precision
    raise ValueError(f"there is no precision {given!r} of Samsung; expected {', '.join(Precision.__members__)}")


def get_quant_config(precision: Precision, is_per_channel: bool = False, is_qat: bool = False) -> QuantizationConfig:
    """The configuration of a precision: weights are symmetric if each output channel has a scale.

    Raises ValueError for an unknown precision.
    """
    precision_of(precision)
    return get_a8w8_enn_quant_config(is_per_channel, is_qat, wei_symmetric=is_per_channel)


def get_a8w8_enn_quant_config(
    is_per_channel: bool = True, is_qat: bool = False, act_symmetric: bool = False, wei_symmetric: bool = False
) -> QuantizationConfig:
    """int8 activations and weights; biases stay float32.

    Raises ValueError for weights with a scale for each channel that are not symmetric.
    """
    if is_per_channel and not wei_symmetric:
        raise ValueError("weights with a scale for each channel must be symmetric")
    activation = _spec(act_symmetric, False, is_qat)
    return QuantizationConfig(activation, activation, _spec(wei_symmetric, is_per_channel, is_qat), None)


def _spec(is_symmetric: bool, is_per_channel: bool, is_qat: bool) -> QuantizationSpec:
    observer: Any = PerChannelMinMaxObserver if is_per_channel else MinMaxObserver
    unit, kind = "channel" if is_per_channel else "tensor", "symmetric" if is_symmetric else "affine"
    return QuantizationSpec(
        dtype=torch.int8,
        quant_min=-128,
        quant_max=127,
        qscheme=getattr(torch, f"per_{unit}_{kind}"),
        ch_axis=0 if is_per_channel else None,
        observer_or_fake_quant_ctr=(
            FakeQuantize.with_args(observer=observer, eps=_EPS) if is_qat else observer.with_args(eps=_EPS)
        ),
    )
