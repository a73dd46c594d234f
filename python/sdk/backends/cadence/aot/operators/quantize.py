# SPDX-License-Identifier: BSD-3-Clause
"""Conversion between floats and integers, and from one scale to another."""

from __future__ import annotations

import torch
from torch import Tensor

from sdk.backends.cadence.aot.operators.registry import check, check_dtype, operator
from sdk.exir.scalar_type import ScalarType

QUANTIZED = (torch.int8, torch.uint8, torch.int16, torch.uint16, torch.int32)
BYTES = (torch.int8, torch.uint8)
KINDS = {
    "asym8s": torch.int8,
    "asym8u": torch.uint8,
    "asym16s": torch.int16,
    "asym16u": torch.uint16,
    "asym32s": torch.int32,
}
"""The integer types by the abbreviation that names of operators contain."""
FIXED_POINT = 2.0**31

_EDGE = "Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype"
_OLD = {ScalarType.QINT8: torch.int8, ScalarType.QUINT8: torch.uint8, ScalarType.QINT32: torch.int32}


def real_scale(multiplier: int, shift: int) -> float:
    """Returns |multiplier| / 2^31 * 2^shift. The sign is ignored: factors are positive, and int32 can represent the
    factor 1 only as -2^31."""
    return abs(multiplier) / FIXED_POINT * 2.0**shift


def quantize(values: Tensor, inverse: float, zero_point: int, dtype: torch.dtype,
             low: int | None = None, high: int | None = None) -> Tensor:  # fmt: skip
    """Quantises float32 values: multiplies by the inverse of the scale, rounds to nearest even and adds the zero point.
    NaN becomes the least integer."""
    low = torch.iinfo(dtype).min if low is None else low
    high = torch.iinfo(dtype).max if high is None else high
    rounded = torch.round(values.to(torch.float32) * inverse).double() + zero_point
    return torch.where(rounded.isnan(), low, rounded).clamp(low, high).to(dtype)


def dequantize(values: Tensor, scale: float, zero_point: int) -> Tensor:
    return (values.to(torch.float32) - zero_point) * scale


def scaled(sums: Tensor, multiplier: int, shift: int, zero_point: int, dtype: torch.dtype) -> Tensor:
    """Requantises exact integer sums: rounds each to float32 once, then scales it."""
    return quantize(sums.to(torch.float32), _inverse_of_scale(multiplier, shift), zero_point, dtype)


def _inverse_of_scale(multiplier: int, shift: int) -> float:
    factor = real_scale(multiplier, shift)
    check(factor > 0, f"expected a multiplier that is not zero, found {multiplier}")
    return 1.0 / (1.0 / factor)


def _edge_shape(input: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int,
                dtype: torch.dtype) -> Tensor:  # fmt: skip
    check_dtype("quantize_per_tensor", "an input", input, torch.float32, torch.bfloat16)
    return input.new_empty(input.size(), dtype=dtype)


def _float_shape(input: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int,
                 dtype: torch.dtype) -> Tensor:  # fmt: skip
    return input.new_empty(input.size(), dtype=torch.float32)


def _declare_edges(kind: str) -> None:
    wanted = (KINDS[kind],) if kind else QUANTIZED
    suffix = f"_{kind}" if kind else ""

    def quantize_per_tensor(input: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int,
                            dtype: torch.dtype) -> Tensor:  # fmt: skip
        check(dtype in wanted, f"cadence::quantize_per_tensor{suffix}: expected dtype {wanted}, found {dtype}")
        return quantize(input, 1.0 / scale, zero_point, dtype, quant_min, quant_max)

    def dequantize_per_tensor(input: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int,
                              dtype: torch.dtype) -> Tensor:  # fmt: skip
        check(dtype in wanted, f"cadence::dequantize_per_tensor{suffix}: expected dtype {wanted}, found {dtype}")
        check_dtype(f"dequantize_per_tensor{suffix}", "an input", input, dtype)
        return dequantize(input, scale, zero_point)

    operator(f"quantize_per_tensor{suffix}", _EDGE, _edge_shape)(quantize_per_tensor)
    operator(f"dequantize_per_tensor{suffix}", _EDGE, _float_shape)(dequantize_per_tensor)


for _kind in ("", *KINDS):
    _declare_edges(_kind)


@operator("dequantize", "Tensor X, Tensor X_scale, Tensor X_zero_point",
          lambda x, x_scale, x_zero_point: x.new_empty(x.size(), dtype=torch.float32))  # fmt: skip
def dequantize_tensor(x: Tensor, x_scale: Tensor, x_zero_point: Tensor) -> Tensor:
    return dequantize(x, float(x_scale.item()), int(x_zero_point.item()))


def _requantized_shape(input: Tensor, in_scale: Tensor | float, in_zero_point: Tensor | int,
                       out_scale: Tensor | float, out_zero_point: Tensor | int,
                       out_dtype: torch.dtype) -> Tensor:  # fmt: skip
    return input.new_empty(input.size(), dtype=_target_dtype(out_dtype))


def _target_dtype(dtype: torch.dtype | ScalarType) -> torch.dtype:
    return _OLD[dtype] if isinstance(dtype, ScalarType) else dtype


@operator("requantize.per_tensor",
          "Tensor input, float in_scale, int in_zero_point, float out_scale, int out_zero_point, ScalarType out_dtype",
          _requantized_shape)  # fmt: skip
def requantize_per_tensor(input: Tensor, in_scale: float, in_zero_point: int, out_scale: float,
                          out_zero_point: int, out_dtype: torch.dtype) -> Tensor:  # fmt: skip
    check_dtype("requantize", "an input", input, *QUANTIZED)
    values = dequantize(input, in_scale, in_zero_point)
    return quantize(values, 1.0 / out_scale, out_zero_point, _target_dtype(out_dtype))


@operator("requantize",
          "Tensor input, Tensor in_scale, Tensor in_zero_point, Tensor out_scale, Tensor out_zero_point, "
          "ScalarType out_dtype", _requantized_shape)  # fmt: skip
def requantize(input: Tensor, in_scale: Tensor, in_zero_point: Tensor, out_scale: Tensor, out_zero_point: Tensor,
               out_dtype: torch.dtype) -> Tensor:  # fmt: skip
    numbers = (float(in_scale.item()), int(in_zero_point.item()), float(out_scale.item()), int(out_zero_point.item()))
    return requantize_per_tensor(input, *numbers, out_dtype)
