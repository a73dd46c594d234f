# SPDX-License-Identifier: BSD-3-Clause
"""Registers the quantised operators that runtimes have kernels for, with Python implementations.

PyTorch defines quantize and dequantize in `quantized_decomposed`. Added are fused operators, which compute on quantised
tensors, and the out variants of all operators, with the schemas of the kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.ao.quantization.fx._decomposed
from torch import Tensor
from torch.library import Library

_ADD = (
    "Tensor a, float a_scale, int a_zero_point, int a_quant_min, int a_quant_max, "
    "Tensor b, float b_scale, int b_zero_point, int b_quant_min, int b_quant_max, "
    "float out_scale, int out_zero_point, int out_quant_min, int out_quant_max"
)
_ADD_SCALAR = (
    "Tensor qa, float a_scale, int a_zero_point, int a_quant_min, int a_quant_max, ScalarType a_dtype, Scalar b, "
    "float out_scale, int out_zero_point, int out_quant_min, int out_quant_max, ScalarType out_dtype"
)
_EMBEDDING = (
    "Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, "
    "Tensor indices"
)
_OUT = "Tensor(a!) out) -> Tensor(a!)"
_ROOM = "quantized_decomposed"

quantized_decomposed_lib = Library(_ROOM, "FRAGMENT")

_ops = getattr(torch.ops, _ROOM)


def _quantize(x: Tensor, scale: float, zero_point: int, low: int, high: int, dtype: torch.dtype) -> Tensor:
    return torch.clamp(torch.round(x * (1.0 / scale)) + zero_point, low, high).to(dtype)


def _dequantize(x: Tensor, scale: float, zero_point: int) -> Tensor:
    return (x.to(torch.float32) - zero_point) * scale


def _add(a: Tensor, sa: float, za: int, la: int, ha: int, b: Tensor, sb: float, zb: int, lb: int, hb: int,
         so: float, zo: int, lo: int, ho: int) -> Tensor:  # fmt: skip
    return _quantize(_dequantize(a, sa, za) + _dequantize(b, sb, zb), so, zo, lo, ho, a.dtype)


def _add_relu(a: Tensor, sa: float, za: int, la: int, ha: int, b: Tensor, sb: float, zb: int, lb: int, hb: int,
              so: float, zo: int, lo: int, ho: int) -> Tensor:  # fmt: skip
    return _quantize(torch.relu(_dequantize(a, sa, za) + _dequantize(b, sb, zb)), so, zo, lo, ho, a.dtype)


def _add_scalar(a: Tensor, sa: float, za: int, la: int, ha: int, a_dtype: torch.dtype, b: float,
                so: float, zo: int, lo: int, ho: int, out_dtype: torch.dtype) -> Tensor:  # fmt: skip
    return _quantize(_dequantize(a, sa, za) + b, so, zo, lo, ho, out_dtype)


def _embedding(bits: int) -> Callable[..., Tensor]:
    def embed(weight: Tensor, scales: Tensor, zero_points: Tensor | None, low: int, high: int, indices: Tensor,
              *, dtype: torch.dtype | None = None) -> Tensor:  # fmt: skip
        """Rows of a table whose entries of 2 or 4 bits are packed and offset to be unsigned; the first of two entries
        is in the high bits of a byte, the first of four in the low bits."""
        if bits < 8:
            shifts = (4, 0) if bits == 4 else range(0, 8, bits)
            parts = [(weight.to(torch.int32) >> shift) & ((1 << bits) - 1) for shift in shifts]
            weight = torch.stack(parts, -1).reshape(weight.shape[0], -1) - (1 << (bits - 1))
        groups = scales.reshape(scales.shape[0], -1)
        width = weight.shape[1] // groups.shape[1]
        values = weight.to(torch.float32).reshape(weight.shape[0], groups.shape[1], width)
        if zero_points is not None:
            values = values - zero_points.reshape(groups.shape[0], -1, 1)
        table = (values * groups.unsqueeze(-1)).reshape(weight.shape)
        return torch.nn.functional.embedding(indices, table).to(dtype or scales.dtype)

    return embed


def _out_variant(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def write(*args: Any, out: Tensor, **kwargs: Any) -> Tensor:
        result = function(*args, **kwargs)
        return out.resize_(result.shape).copy_(result)

    return write


def _define(name: str, overload: str, arguments: str, function: Callable[..., Tensor], keywords: str = "") -> None:
    """Defines an operator and its out variant, unless another package in the process already has."""
    full, out = f"{name}.{overload}".rstrip("."), f"{name}.{overload}_out" if overload else f"{name}.out"
    known = getattr(_ops, name, None)
    overloads = known.overloads() if known is not None else []
    kernel = "CompositeExplicitAutograd"
    if (overload or "default") not in overloads:
        star = f", *, {keywords}" if keywords else ""
        quantized_decomposed_lib.define(f"{full}({arguments}{star}) -> Tensor")
        quantized_decomposed_lib.impl(full, function, kernel)
    if out.split(".")[1] not in overloads:
        star = f"{keywords}, " if keywords else ""
        quantized_decomposed_lib.define(f"{out}({arguments}, *, {star}{_OUT}")
        quantized_decomposed_lib.impl(out, _out_variant(function), kernel)


_TENSOR_RANGE = "int quant_min, int quant_max, ScalarType dtype"
_PARAMETERS = {
    "per_tensor": "float scale, int zero_point, ",
    "per_channel": "Tensor scales, Tensor{} zero_points, int axis, ",
}


def _register() -> None:
    for kind, parameters in _PARAMETERS.items():
        quantize, dequantize = f"quantize_{kind}", f"dequantize_{kind}"
        head = f"Tensor input, {parameters}{_TENSOR_RANGE}"
        _define(quantize, "", head.format(""), getattr(_ops, quantize).default)
        _define(dequantize, "", head.format("?"), getattr(_ops, dequantize).default, "ScalarType? out_dtype=None")
    _define("add", "", _ADD, _add)
    _define("add", "scalar", _ADD_SCALAR, _add_scalar)
    _define("add_relu", "", _ADD, _add_relu)
    for name, bits in (("embedding_byte", 8), ("embedding_4bit", 4), ("embedding_2bit", 2)):
        _define(name, "", _EMBEDDING, _embedding(bits))
        _define(name, "dtype", _EMBEDDING, _embedding(bits), "ScalarType? dtype=None")
    for name in [*(f"{verb}_{kind}" for verb in ("quantize", "dequantize") for kind in _PARAMETERS), "add"]:
        # A packet lists the overloads that there were when it was first used.
        packet = getattr(_ops, name)
        packet._op, packet._overload_names = torch._C._jit_get_operation(f"{_ROOM}::{name}")


_register()
