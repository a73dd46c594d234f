# SPDX-License-Identifier: BSD-3-Clause
"""Matrix multiplications: linear, fully connected (one row) and matmul. Integer sums are exact."""

from __future__ import annotations

from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from sdk.backends.cadence.aot.operators.quantize import BYTES, KINDS, scaled
from sdk.backends.cadence.aot.operators.registry import check, check_dtype, operator

_SOURCES = (torch.int8, torch.uint8, torch.int16, torch.int32)
_LINEAR = (
    "Tensor src, Tensor weight, Tensor bias, {0} src_zero_point, {1} weight_zero_point, {1} out_multiplier, "
    "{1} out_shift, {0} out_zero_point, Tensor? offset"
)
_MATMUL = (
    "Tensor X, int X_zero_point, Tensor Y, int Y_zero_point, Tensor? bias, int out_multiplier, int out_shift, "
    "int out_zero_point, bool transposed=False"
)


def _exact_linear(src: Tensor, weight: Tensor, bias: Tensor, src_zero_point: int, weight_zero_point: Tensor | int,
                  multiplier: int, shift: int, out_zero_point: int) -> Tensor:  # fmt: skip
    zero = weight_zero_point.double() if isinstance(weight_zero_point, Tensor) else weight_zero_point
    sums = F.linear(src.double() - src_zero_point, weight.double() - zero, bias.double())
    return scaled(sums, multiplier, shift, out_zero_point, src.dtype)


def _linear_shape(src: Tensor, weight: Tensor, bias: Tensor, *_: Any, **__: Any) -> Tensor:
    check_dtype("quantized_linear", "a bias", bias, torch.int32)
    check(weight.dim() == 2, f"cadence::quantized_linear: expected weights of 2 dimensions, found {weight.dim()}")
    return src.new_empty([*src.shape[:-1], weight.shape[0]])


def _declare_linear(base: str, kind: str) -> None:
    """Declares the variants of `base`: quantized_linear, or quantized_fully_connected, whose input has one row."""
    wanted = (KINDS[kind],) if kind else _SOURCES
    name = f"{base}_{kind}x{kind}_{kind}" if kind else base
    one_row = base == "quantized_fully_connected"
    symbols = base == "quantized_linear" and not kind

    def per_tensor(src: Tensor, weight: Tensor, bias: Tensor, src_zero_point: int, weight_zero_point: Any,
                   out_multiplier: int, out_shift: int, out_zero_point: int,
                   offset: Tensor | None = None) -> Tensor:  # fmt: skip
        check_dtype(name, "src", src, *wanted)
        if kind:
            check_dtype(name, "weights", weight, *wanted)
        check_dtype(name, "a bias", bias, torch.int32)
        check(not one_row or src.shape[0] == 1, f"cadence::{name}: expected a batch of 1, found {src.shape[0]}")
        tail = (src_zero_point, weight_zero_point, out_multiplier, out_shift, out_zero_point)
        return _exact_linear(src, weight, bias, *tail)

    def shape(src: Tensor, weight: Tensor, bias: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        check(not one_row or src.shape[0] == 1, f"cadence::{name}: expected a batch of 1, found {src.shape[0]}")
        return _linear_shape(src, weight, bias)

    integer = "SymInt" if symbols else "int"
    operator(f"{name}.per_tensor", _LINEAR.format(integer, integer), shape)(per_tensor)
    if not kind:

        def of_tensors(src: Tensor, weight: Tensor, bias: Tensor, src_zero_point: int, weight_zero_point: Tensor,
                       out_multiplier: Tensor, out_shift: Tensor, out_zero_point: int,
                       offset: Tensor | None = None) -> Tensor:  # fmt: skip
            for of_scale, tensor in (("out_multiplier", out_multiplier), ("out_shift", out_shift)):
                check(tensor.numel() == 1, f"cadence::{name}: expected one {of_scale}, found {tensor.numel()}")
                check_dtype(name, of_scale, tensor, torch.int32, torch.int64)
            scale = (int(out_multiplier.item()), int(out_shift.item()))
            return per_tensor(src, weight, bias, src_zero_point, weight_zero_point, *scale, out_zero_point, offset)

        operator(name, _LINEAR.format("int", "Tensor"), shape)(of_tensors)


for _base in ("quantized_linear", "quantized_fully_connected"):
    for _kind in ("", "asym8s", "asym8u"):
        _declare_linear(_base, _kind)


def _product_shape(x: Tensor, x_zero_point: int, y: Tensor, y_zero_point: int, bias: Tensor | None,
                   out_multiplier: int, out_shift: int, out_zero_point: int,
                   transposed: bool = False) -> Tensor:  # fmt: skip
    name = "cadence::quantized_matmul"
    check(x.dtype == y.dtype, f"{name}: expected X and Y of one dtype, found {x.dtype} and {y.dtype}")
    check(min(x.dim(), y.dim()) >= 2, f"{name}: expected 2 dimensions or more, found {x.dim()} and {y.dim()}")
    *x_batch, m, k = x.shape
    *y_batch, n, inner = y.shape if transposed else (*y.shape[:-2], y.shape[-1], y.shape[-2])
    check(k == inner, f"{name}: expected matrices whose inner sizes are equal, found {k} and {inner}")
    check(x_batch == y_batch or prod(x_batch) == prod(y_batch),
          f"{name}: expected equal batches, found {x_batch} and {y_batch}")  # fmt: skip
    return x.new_empty([*(x_batch if len(x_batch) > len(y_batch) else y_batch), m, n])


def _declare_matmul(kind: str) -> None:
    wanted = (KINDS[kind],) if kind else (*BYTES, torch.int16)
    name = f"quantized_matmul_{kind}x{kind}_{kind}" if kind else "quantized_matmul"

    def quantized_matmul(x: Tensor, x_zero_point: int, y: Tensor, y_zero_point: int, bias: Tensor | None,
                         out_multiplier: int, out_shift: int, out_zero_point: int,
                         transposed: bool = False) -> Tensor:  # fmt: skip
        check_dtype(name, "X", x, *wanted)
        check_dtype(name, "Y", y, *wanted)
        check(bias is None or not bias.any(), f"cadence::{name}: expected no bias, or zeros, found others")
        right = y.transpose(-1, -2) if transposed else y
        sums = torch.matmul(x.double() - x_zero_point, right.double() - y_zero_point)
        return scaled(sums, out_multiplier, out_shift, out_zero_point, x.dtype)

    operator(name, _MATMUL, _product_shape)(quantized_matmul)


for _kind in ("", "asym8s", "asym8u"):
    _declare_matmul(_kind)


def _fully_connected_shape(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    check_dtype("fully_connected", "an input", input, torch.float32, torch.bfloat16)
    check(input.size(0) == 1, f"cadence::fully_connected: expected a batch of 1, found {input.size(0)}")
    return input.new_empty([*input.shape[:-1], weight.shape[0]])


@operator("fully_connected", "Tensor input, Tensor weight, Tensor? bias=None", _fully_connected_shape)
def fully_connected(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return F.linear(input, weight, bias)
