# SPDX-License-Identifier: BSD-3-Clause
"""The precisions of MediaTek's NPUs, as specifications of torchao."""

from __future__ import annotations

from enum import IntEnum, unique
from functools import cache
from typing import Any

import torch
from torchao.quantization.pt2e import FakeQuantize, MinMaxObserver, PerChannelMinMaxObserver
from torchao.quantization.pt2e.quantizer import QuantizationSpec

_EPS = 1e-6
"""The smallest scale."""


@unique
class Precision(IntEnum):
    """The bits of activations (A) and of weights (W)."""

    A16W16 = 0
    A16W8 = 1
    A16W4 = 2
    A8W8 = 3
    A8W4 = 4


class QuantizationConfig:
    """The specifications of activations and weights."""

    def __init__(self, activation_spec: QuantizationSpec, weight_spec: QuantizationSpec) -> None:
        self.activation = activation_spec
        self.weight = weight_spec


@cache
def get_quant_config(precision: Precision, is_per_channel: bool = False, is_qat: bool = False) -> QuantizationConfig:
    """The configuration of a precision. Equal arguments give the same object, because torchao compares identities."""
    activations, weights = _KINDS[Precision(precision)]
    return QuantizationConfig(
        _spec(*activations, is_per_channel=False, is_qat=is_qat),
        _spec(*weights, is_per_channel=is_per_channel, is_qat=is_qat),
    )


def get_a16w16_quant_config(is_per_channel: bool, is_qat: bool) -> QuantizationConfig:
    """int16 activations and weights, both symmetric."""
    return get_quant_config(Precision.A16W16, is_per_channel, is_qat)


def get_a16w8_quant_config(is_per_channel: bool, is_qat: bool) -> QuantizationConfig:
    """int16 activations and int8 weights, both symmetric."""
    return get_quant_config(Precision.A16W8, is_per_channel, is_qat)


def get_a16w4_quant_config(is_per_channel: bool, is_qat: bool) -> QuantizationConfig:
    """Symmetric int16 activations, and int4 weights with zero points."""
    return get_quant_config(Precision.A16W4, is_per_channel, is_qat)


def get_a8w8_quant_config(is_per_channel: bool, is_qat: bool) -> QuantizationConfig:
    """int8 activations and weights, both with zero points."""
    return get_quant_config(Precision.A8W8, is_per_channel, is_qat)


def get_a8w4_quant_config(is_per_channel: bool, is_qat: bool) -> QuantizationConfig:
    """int8 activations and int4 weights, both with zero points."""
    return get_quant_config(Precision.A8W4, is_per_channel, is_qat)


_INT16 = (torch.int16, -32768, 32767, True)
_INT8 = (torch.int8, -128, 127, False)
_SYMMETRIC_INT8 = (torch.int8, -128, 127, True)
_INT4 = (torch.int8, -8, 7, False)

_KINDS = {
    Precision.A16W16: (_INT16, _INT16),
    Precision.A16W8: (_INT16, _SYMMETRIC_INT8),
    Precision.A16W4: (_INT16, _INT4),
    Precision.A8W8: (_INT8, _INT8),
    Precision.A8W4: (_INT8, _INT4),
}
"""For each precision, activations and weights: dtype, range, and whether the range is symmetric around zero."""


@cache
def _spec(
    dtype: torch.dtype, low: int, high: int, is_symmetric: bool, *, is_per_channel: bool, is_qat: bool
) -> QuantizationSpec:
    observer: Any = PerChannelMinMaxObserver if is_per_channel else MinMaxObserver
    made = FakeQuantize.with_args(observer=observer, eps=_EPS) if is_qat else observer.with_args(eps=_EPS)
    unit, kind = "channel" if is_per_channel else "tensor", "symmetric" if is_symmetric else "affine"
    return QuantizationSpec(
        dtype=dtype,
        quant_min=low,
        quant_max=high,
        qscheme=getattr(torch, f"per_{unit}_{kind}"),
        ch_axis=0 if is_per_channel else None,
        observer_or_fake_quant_ctr=made,
    )
