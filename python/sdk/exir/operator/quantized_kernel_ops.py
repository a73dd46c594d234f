# SPDX-License-Identifier: BSD-3-Clause
"""Registers with PyTorch every operator that the quantized kernel library has, so that exports and out-variant
conversions find them. Importing this module registers them.

The schemas are those of kernels/quantized/functions.yaml. Each operator has an implementation in PyTorch's tensor
operations, which eager mode runs and an export traces. PyTorch's own operators of `quantized_decomposed` are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from sdk.exir.operator.quantized_ops import _ROOM, _define, _ops, quantized_decomposed_lib

_KERNEL = "CompositeExplicitAutograd"
_RANGE = "int quant_min, int quant_max, ScalarType dtype"
_MIXED = "Tensor input, Tensor weight, Tensor weight_scales, Tensor? weight_zero_points"


def _scaled(weight: Tensor, scales: Tensor, dtype: torch.dtype) -> Tensor:
    """An int8 weight (rows, columns) times its scales (rows) or (rows, groups)."""
    groups = scales.reshape(scales.shape[0], -1)
    values = weight.to(dtype).reshape(weight.shape[0], groups.shape[1], -1)
    return (values * groups.unsqueeze(-1).to(dtype)).reshape(weight.shape)


def _check_symmetric(zero_points: Tensor | None) -> None:
    if zero_points is not None:
        raise NotImplementedError(
            "weights with zero points are not supported by mixed_mm and mixed_linear; quantize them symmetrically"
        )


def mixed_mm(input: Tensor, weight: Tensor, weight_scales: Tensor, weight_zero_points: Tensor | None) -> Tensor:
    """input (m, k) @ weight (k, n), an int8 weight with scales (k) or (k, groups)."""
    _check_symmetric(weight_zero_points)
    return input @ _scaled(weight, weight_scales, input.dtype)


def mixed_linear(
    input: Tensor,
    weight: Tensor,
    weight_scales: Tensor,
    weight_zero_points: Tensor | None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """input (m, k) @ weight (n, k).T, an int8 weight with scales (n) or (n, groups); the result has `dtype`."""
    _check_symmetric(weight_zero_points)
    return (input @ _scaled(weight, weight_scales, input.dtype).T).to(dtype or input.dtype)


def _define_out(out: str, arguments: str, results: Sequence[str], function: Callable[..., Any]) -> None:
    """Defines the out variant of an operator that PyTorch has, unless it is there already."""
    name, _, overload = out.partition(".")
    if overload in getattr(_ops, name).overloads():
        return
    letters = "abc"[: len(results)]
    outs = ", ".join(f"Tensor({letter}!) {result}" for letter, result in zip(letters, results, strict=True))
    returns = ", ".join(f"Tensor({letter}!)" for letter in letters)
    returns = f"({returns})" if len(results) > 1 else returns

    def write(*args: Any, **kwargs: Any) -> Any:
        targets = [kwargs.pop(result) for result in results]
        values = function(*args, **kwargs)
        values = values if isinstance(values, tuple) else (values,)
        for target, value in zip(targets, values, strict=True):
            target.resize_(value.shape).copy_(value)
        return tuple(targets) if len(targets) > 1 else targets[0]

    separator = ", " if "*" in arguments else ", *, "
    quantized_decomposed_lib.define(f"{out}({arguments}{separator}{outs}) -> {returns}")
    quantized_decomposed_lib.impl(out, write, _KERNEL)


def _register() -> None:
    tensor = "Tensor input, Tensor scale, Tensor zero_point, " + _RANGE
    token = "Tensor input, Tensor scales, Tensor zero_points, " + _RANGE
    qparams = ("scale_out", "zero_point_out")
    out = ("out",)
    _define_out("quantize_per_tensor.Tensor_out", tensor, out, _ops.quantize_per_tensor.tensor)
    _define_out(
        "dequantize_per_tensor.Tensor_out",
        tensor + ", *, ScalarType? out_dtype=None",
        out,
        _ops.dequantize_per_tensor.tensor,
    )
    bounds = "Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype"
    _define_out("quantize_per_tensor.Tensor2_out", bounds, out, _ops.quantize_per_tensor.tensor2)
    _define_out(
        "dequantize_per_tensor.Tensor2_out",
        bounds + ", *, ScalarType? out_dtype=None",
        out,
        _ops.dequantize_per_tensor.tensor2,
    )
    _define_out(
        "fake_quant_per_channel.out",
        "Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max",
        out,
        _ops.fake_quant_per_channel.default,
    )
    _define_out(
        "convert_element_type.no_fuse_out", "Tensor input, ScalarType dtype", out, _ops.convert_element_type.no_fuse
    )
    _define_out("quantize_per_token.out", token, out, _ops.quantize_per_token.default)
    _define_out("dequantize_per_token.out", token + ", ScalarType output_dtype", out, _ops.dequantize_per_token.default)
    ranged = "Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype"
    _define_out("choose_qparams.Tensor_out", ranged, qparams, _ops.choose_qparams.tensor)
    _define_out("choose_qparams_symmetric.Tensor_out", ranged, qparams, _ops.choose_qparams_symmetric.tensor)
    for name in ("choose_qparams_per_token", "choose_qparams_per_token_asymmetric"):
        _define_out(f"{name}.out", "Tensor input, ScalarType dtype", qparams, getattr(_ops, name).default)
    _define_out(
        "quantize_per_channel_group.out",
        token + ", int group_size",
        out,
        _ops.quantize_per_channel_group.default,
    )
    _define_out(
        "dequantize_per_channel_group.out",
        f"Tensor input, Tensor scales, Tensor? zero_points, {_RANGE}, int group_size, ScalarType output_dtype",
        out,
        _ops.dequantize_per_channel_group.default,
    )
    _define("mixed_mm", "", _MIXED, mixed_mm)
    _define("mixed_linear", "", _MIXED + ", ScalarType? dtype=None", mixed_linear)
    for name in (
        "quantize_per_tensor",
        "dequantize_per_tensor",
        "quantize_per_token",
        "dequantize_per_token",
        "choose_qparams",
        "choose_qparams_symmetric",
        "choose_qparams_per_token",
        "choose_qparams_per_token_asymmetric",
        "quantize_per_channel_group",
        "dequantize_per_channel_group",
        "fake_quant_per_channel",
        "convert_element_type",
    ):
        # A packet lists the overloads that there were when it was first used.
        packet = getattr(_ops, name)
        packet._op, packet._overload_names = torch._C._jit_get_operation(f"{_ROOM}::{name}")


_register()
