# SPDX-License-Identifier: BSD-3-Clause
"""Addition, multiplication, ReLU, layer norm and softmax of quantised values; selection and copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from sdk.backends.cadence.aot.operators.quantize import BYTES, KINDS, dequantize, quantize, scaled
from sdk.backends.cadence.aot.operators.registry import check, check_dtype, operator

_RELU = (torch.int8, torch.uint8, torch.int16, torch.uint16)
_SOFTMAX = (torch.int8, torch.uint8, torch.int16)
_BINARY = (
    "Tensor X, {0} X_scale, {1} X_zero_point, Tensor Y, {0} Y_scale, {1} Y_zero_point, float out_scale, "
    "int out_zero_point"
)
_NUMBERS = _BINARY.format("float", "int")
_TENSORS = _BINARY.format("Tensor", "Tensor")
_SCALAR = "Tensor X, Tensor X_scale, Tensor X_zero_point, Scalar Y, float out_scale, int out_zero_point"


def like(input: Tensor, *_: Any, **__: Any) -> Tensor:
    """Returns an empty contiguous tensor with the shape of the first argument."""
    return input.new_empty(input.size())


def _binary_shape(x: Tensor, x_scale: Any, x_zero_point: Any, y: Tensor, *_: Any) -> Tensor:
    return x.new_empty(torch.broadcast_shapes(x.shape, y.shape))


def _operands(name: str, x: Tensor, y: Tensor, dtypes: Sequence[torch.dtype]) -> None:
    check_dtype(name, "X", x, *dtypes)
    check(x.dtype == y.dtype, f"cadence::{name}: expected X and Y of one dtype, found {x.dtype} and {y.dtype}")


def _declare_sums(kind: str) -> None:
    wanted = (KINDS[kind],) if kind else BYTES
    name = f"quantized_add_{kind}x{kind}_{kind}" if kind else "quantized_add"

    def quantized_add(x: Tensor, x_scale: float, x_zero_point: int, y: Tensor, y_scale: float, y_zero_point: int,
                      out_scale: float, out_zero_point: int) -> Tensor:  # fmt: skip
        _operands(name, x, y, wanted)
        real = dequantize(x, x_scale, x_zero_point) + dequantize(y, y_scale, y_zero_point)
        return quantize(real, 1.0 / out_scale, out_zero_point, x.dtype)

    operator(f"{name}.per_tensor", _NUMBERS, _binary_shape)(quantized_add)
    if not kind:

        def of_tensors(x: Tensor, x_scale: Tensor, x_zero_point: Tensor, y: Tensor, y_scale: Tensor,
                       y_zero_point: Tensor, out_scale: float, out_zero_point: int) -> Tensor:  # fmt: skip
            x_params, y_params = (
                (float(x_scale.item()), int(x_zero_point.item())),
                (float(y_scale.item()), int(y_zero_point.item())),
            )
            return quantized_add(x, *x_params, y, *y_params, out_scale, out_zero_point)

        operator(name, _TENSORS, _binary_shape)(of_tensors)


for _kind in ("", "asym8s", "asym8u"):
    _declare_sums(_kind)


@operator("quantized_mul.per_tensor", _NUMBERS, _binary_shape)
def quantized_mul_per_tensor(x: Tensor, x_scale: float, x_zero_point: int, y: Tensor, y_scale: float,
                             y_zero_point: int, out_scale: float, out_zero_point: int) -> Tensor:  # fmt: skip
    _operands("quantized_mul", x, y, BYTES)
    real = dequantize(x, x_scale, x_zero_point) * dequantize(y, y_scale, y_zero_point)
    return quantize(real, 1.0 / out_scale, out_zero_point, x.dtype)


@operator("quantized_mul", _TENSORS, _binary_shape)
def quantized_mul(x: Tensor, x_scale: Tensor, x_zero_point: Tensor, y: Tensor, y_scale: Tensor, y_zero_point: Tensor,
                  out_scale: float, out_zero_point: int) -> Tensor:  # fmt: skip
    x_params, y_params = (
        (float(x_scale.item()), int(x_zero_point.item())),
        (float(y_scale.item()), int(y_zero_point.item())),
    )
    return quantized_mul_per_tensor(x, *x_params, y, *y_params, out_scale, out_zero_point)


@operator("quantized_add_Scalar", _SCALAR, like)
def quantized_add_scalar(x: Tensor, x_scale: Tensor, x_zero_point: Tensor, y: float, out_scale: float,
                         out_zero_point: int) -> Tensor:  # fmt: skip
    check_dtype("quantized_add_Scalar", "X", x, *BYTES)
    real = dequantize(x, float(x_scale.item()), int(x_zero_point.item())) + y
    return quantize(real, 1.0 / out_scale, out_zero_point, x.dtype)


@operator("quantized_mul_Scalar", _SCALAR, like)
def quantized_mul_scalar(x: Tensor, x_scale: Tensor, x_zero_point: Tensor, y: float, out_scale: float,
                         out_zero_point: int) -> Tensor:  # fmt: skip
    check_dtype("quantized_mul_Scalar", "X", x, *BYTES)
    real = dequantize(x, float(x_scale.item()), int(x_zero_point.item())) * y
    return quantize(real, 1.0 / out_scale, out_zero_point, x.dtype)


def _declare_relu(kind: str) -> None:
    wanted = (KINDS[kind],) if kind else _RELU
    name = f"quantized_relu_{kind}_{kind}" if kind else "quantized_relu"
    arguments = "Tensor X, int X_zero_point, int out_zero_point, int out_multiplier, int out_shift"

    def quantized_relu(x: Tensor, x_zero_point: int, out_zero_point: int, out_multiplier: int,
                       out_shift: int) -> Tensor:  # fmt: skip
        check_dtype(name, "X", x, *wanted)
        positive = (x.to(torch.int64) - x_zero_point).clamp(min=0)
        return scaled(positive, out_multiplier, out_shift, out_zero_point, x.dtype)

    operator(f"{name}.per_tensor", arguments, like)(quantized_relu)
    if not kind:
        arguments = "Tensor X, Tensor X_zero_point, int out_zero_point, Tensor out_multiplier, Tensor out_shift"

        def of_tensors(x: Tensor, x_zero_point: Tensor, out_zero_point: int, out_multiplier: Tensor,
                       out_shift: Tensor) -> Tensor:  # fmt: skip
            tail = (int(out_multiplier.item()), int(out_shift.item()))
            return quantized_relu(x, int(x_zero_point.item()), out_zero_point, *tail)

        operator(name, arguments, like)(of_tensors)


for _kind in ("", "asym8s", "asym8u"):
    _declare_relu(_kind)

_LAYER_NORM = (
    "Tensor X, {} X_scale, {} X_zero_point, int[] normalized_shape, Tensor weight, Tensor bias, float eps, "
    "float output_scale, int output_zero_point"
)


def _layer_norm_shape(x: Tensor, x_scale: Any, x_zero_point: Any, normalized_shape: Any, weight: Tensor,
                      bias: Tensor, *_: Any) -> Tensor:  # fmt: skip
    for name, tensor in (("a weight", weight), ("a bias", bias)):
        check_dtype("quantized_layer_norm", name, tensor, torch.float32)
    return x.new_empty(x.size())


@operator("quantized_layer_norm.per_tensor", _LAYER_NORM.format("float", "int"), _layer_norm_shape)
def quantized_layer_norm_per_tensor(x: Tensor, x_scale: float, x_zero_point: int, normalized_shape: Sequence[int],
                                    weight: Tensor, bias: Tensor, eps: float, output_scale: float,
                                    output_zero_point: int) -> Tensor:  # fmt: skip
    check_dtype("quantized_layer_norm", "X", x, *BYTES)
    real = F.layer_norm(dequantize(x, x_scale, x_zero_point), list(normalized_shape), weight, bias, eps)
    return quantize(real, 1.0 / output_scale, output_zero_point, x.dtype)


@operator("quantized_layer_norm", _LAYER_NORM.format("Tensor", "Tensor"), _layer_norm_shape)
def quantized_layer_norm(x: Tensor, x_scale: Tensor, x_zero_point: Tensor, normalized_shape: Sequence[int],
                         weight: Tensor, bias: Tensor, eps: float, output_scale: float,
                         output_zero_point: int) -> Tensor:  # fmt: skip
    scale, zero_point = float(x_scale.item()), int(x_zero_point.item())
    norm = (normalized_shape, weight, bias, eps, output_scale, output_zero_point)
    return quantized_layer_norm_per_tensor(x, scale, zero_point, *norm)


_QUANTIZED_SOFTMAX = (
    "Tensor input, Tensor mask, int dim, int mask_type, Tensor pos, {0} in_scale, {1} in_zero_point, {0} out_scale, "
    "{1} out_zero_point"
)


@operator("quantized_softmax.per_tensor", _QUANTIZED_SOFTMAX.format("float", "int"), like)
def quantized_softmax_per_tensor(input: Tensor, mask: Tensor | None, dim: int, mask_type: int, pos: Tensor,
                                 in_scale: float, in_zero_point: int, out_scale: float,
                                 out_zero_point: int) -> Tensor:  # fmt: skip
    """`mask_type` 0 means no mask; `mask` and `pos` are then ignored. No library has kernels for other types."""
    check_dtype("quantized_softmax", "an input", input, *_SOFTMAX)
    check(mask_type == 0, f"cadence::quantized_softmax: expected mask_type 0 (no mask), found {mask_type}")
    real = torch.softmax(dequantize(input, in_scale, in_zero_point), dim)
    return quantize(real, 1.0 / out_scale, out_zero_point, input.dtype)


@operator("quantized_softmax", _QUANTIZED_SOFTMAX.format("Tensor", "Tensor"), like)
def quantized_softmax(input: Tensor, mask: Tensor | None, dim: int, mask_type: int, pos: Tensor, in_scale: Tensor,
                      in_zero_point: Tensor, out_scale: Tensor, out_zero_point: Tensor) -> Tensor:  # fmt: skip
    of_input = (float(in_scale.item()), int(in_zero_point.item()))
    of_output = (float(out_scale), int(out_zero_point))
    return quantized_softmax_per_tensor(input, mask, dim, mask_type, pos, *of_input, *of_output)


@operator("_softmax_f32_f32", "Tensor self, int dim, bool? half_to_float=None", like)
def softmax_f32_f32(self: Tensor, dim: int, half_to_float: bool | None = None) -> Tensor:
    check_dtype("_softmax_f32_f32", "an input", self, torch.float32)
    check(not half_to_float, "cadence::_softmax_f32_f32: expected half_to_float=False, found True")
    return torch.softmax(self, dim)


@operator("where_Scalar", "Tensor condition, float self, float other",
          lambda condition, self, other: condition.new_empty(condition.size(), dtype=torch.float32))  # fmt: skip
def where_scalar(condition: Tensor, self: float, other: float) -> Tensor:
    check(condition.dtype == torch.bool, "condition must be a bool tensor")
    return torch.where(condition, self, other).to(torch.float32)


def _declare_copies() -> None:
    """Declares the copies of the DMA engine between memories. On a CPU they are ordinary copies."""

    def copy(src: Tensor, task_num: int = 0, channel: int = 0) -> Tensor:
        return src.clone(memory_format=torch.contiguous_format)

    for name in ("idma_load", "idma_store", "idma_copy"):
        operator(name, "Tensor src, int task_num=0, int channel=0", like)(copy)
    operator("idma_wait", "Tensor src, int task_num=0", like)(copy)


_declare_copies()


@operator("slice_scatter_", "Tensor(a!) self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, "
          "SymInt step=1", like, outs=(), returns="Tensor(a!)")  # fmt: skip
def slice_scatter_(self: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None,
                   step: int = 1) -> Tensor:  # fmt: skip
    return self.copy_(torch.slice_scatter(self, src, dim, start, end, step))


def _svd_shape(a: Tensor, full_matrices: bool = False, compute_uv: bool = True,
               driver: str | None = None) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    *batch, m, n = a.shape
    k = min(m, n)
    shapes = ((m, m if full_matrices else k), (k,), (n if full_matrices else k, n))
    u, s, vh = (a.new_empty([*batch, *shape]) for shape in shapes)
    return u, s, vh


@operator("linalg_svd", "Tensor A, bool full_matrices=False, bool compute_uv=True, str? driver=None", _svd_shape,
          outs=("U", "S", "Vh"), returns="(Tensor U, Tensor S, Tensor Vh)")  # fmt: skip
def linalg_svd(a: Tensor, full_matrices: bool = False, compute_uv: bool = True,
               driver: str | None = None) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    check(compute_uv, "cadence::linalg_svd: expected compute_uv=True, found False")
    u, s, vh = torch.linalg.svd(a, full_matrices=full_matrices, driver=driver)
    return u.contiguous(), s.contiguous(), vh.contiguous()
