# SPDX-License-Identifier: BSD-3-Clause
"""The kernels of cadence, compared with PyTorch's operators on the real numbers that integers represent, in float64:
integers to half a step, floats to 1e-5."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from cadence_calls import CALLS, overload
from cadence_random import Random
from single_operator import OutputSpec, run
from torch import Tensor

import sdk.backends.cadence.aot.ops_registrations  # noqa: F401  (registers the operators)


def _number(value: Any) -> Any:
    """Returns a scalar, which some operators take as a tensor."""
    return value.item() if isinstance(value, Tensor) else value


def _numbers(*values: Any) -> list[Any]:
    return [_number(value) for value in values]


def _real(x: Tensor, scale: Any, zero: Any) -> Tensor:
    return (x.double() - _number(zero)) * _number(scale)


def _factor(multiplier: Any, shift: Any) -> float:
    return abs(_number(multiplier)) / 2**31 * 2.0 ** _number(shift)


def _layer_norm(x, scale, zero, shape, weight, bias, eps, out_scale, out_zero) -> Tensor:  # type: ignore[no-untyped-def]
    found = F.layer_norm(_real(x, scale, zero), list(shape), weight.double(), bias.double(), eps)
    return found / _number(out_scale) + _number(out_zero)


def _softmax(x, _mask, dim, _kind, _pos, scale, zero, out_scale, out_zero) -> Tensor:  # type: ignore[no-untyped-def]
    return torch.softmax(_real(x, scale, zero), dim) / _number(out_scale) + _number(out_zero)


def _linear(x, weight, bias, zero, w_zero, multiplier, shift, out_zero, _offset) -> Tensor:  # type: ignore[no-untyped-def]
    found = F.linear(_real(x, 1, zero), _real(weight, 1, w_zero), bias.double())
    return found * _factor(multiplier, shift) + _number(out_zero)


def _matmul(x, zero, y, y_zero, _bias, multiplier, shift, out_zero, transposed) -> Tensor:  # type: ignore[no-untyped-def]
    right = _real(y, 1, y_zero)
    found = torch.matmul(_real(x, 1, zero), right.mT if transposed else right)
    return found * _factor(multiplier, shift) + out_zero


def _convolution(last: bool, x, weight, bias, stride, padding, dilation, groups, zero, w_zero, scale,  # type: ignore[no-untyped-def]
                 out_scale, out_zero, *_) -> Tensor:  # fmt: skip
    real, kernel = _real(x, scale, zero), _real(weight, 1, w_zero)
    if last:
        real = real.movedim(-1, 1)
        depthwise = kernel.dim() < x.dim()  # (height, width, outputs)
        kernel = kernel.movedim(-1, 0).unsqueeze(1) if depthwise else kernel.movedim(-1, 1)
    function = F.conv1d if x.dim() == 3 else F.conv2d
    found = function(real, kernel, bias.double() * _number(scale), stride, padding, dilation, groups)
    found = found / out_scale + out_zero
    return found.movedim(1, -1) if last else found


def _transposed(x, weight, bias, stride, padding, dilation, more, groups, *rest) -> Tensor:  # type: ignore[no-untyped-def]
    *numbers, last = rest
    if last:
        x, weight = x.movedim(-1, 1), weight.movedim(-1, 1)
    real, kernel, sums, out_scale, out_zero = x.double(), weight.double(), bias.double(), 1.0, 0
    if numbers:
        zero, w_zero, scale, out_scale, out_zero, *_ = _numbers(*numbers)
        real, kernel, sums = _real(x, scale, zero), _real(weight, 1, w_zero), bias.double() * scale
    kernel = kernel.flip(*range(2, kernel.dim())).transpose(0, 1)
    function = F.conv_transpose1d if x.dim() == 3 else F.conv_transpose2d
    found = function(real, kernel, sums, stride, padding, more, groups, dilation) / out_scale + out_zero
    return found.movedim(1, -1) if last else found


def _floats(x, weight, bias, *places) -> Tensor:  # type: ignore[no-untyped-def]
    function = (F.conv1d, F.conv2d, F.conv3d)[x.dim() - 3]
    return function(x.double(), weight.double(), bias.double(), *places)


def _max_pool(last: bool, x: Tensor, *places: Any) -> Tensor:
    found = F.max_pool2d(x.double().movedim(-1, 1) if last else x.double(), *places)
    return found.movedim(1, -1) if last else found


def _mean(x, kernel, stride, padding, ceil, counts, divisor, zero, _last) -> Tensor | None:  # type: ignore[no-untyped-def]
    if zero is None:
        return F.avg_pool2d(x.double(), kernel, stride, padding, ceil, counts, divisor)
    if ceil or not counts:  # with a zero point, ExecuTorch's definition of the border, which PyTorch does not have
        return None
    padded = F.pad(x.double(), (padding[1], padding[1], padding[0], padding[0]), value=_number(zero))
    return F.avg_pool2d(padded, kernel, stride, 0, False, True, divisor)


def _turned(halves: bool, x: Tensor, sines: Tensor, cosines: Tensor, pos: Tensor | None) -> Tensor:
    length, heads = x.shape[1:3]
    turns = torch.complex(cosines.double(), sines.double())
    turns = (turns[:length] if pos is None else turns[pos.long()]).unsqueeze(1)
    values = x.double().reshape(1, length, heads, -1)
    pairs = values.unflatten(-1, (2, -1)).mT if halves else values.unflatten(-1, (-1, 2))
    found = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * turns)
    return (found.mT if halves else found).reshape(x.shape)


def _embedding(weight, scales, zeros, indices, _pruned) -> Tensor:  # type: ignore[no-untyped-def]
    groups = scales.reshape(weight.shape[0], -1)
    wide = groups.repeat_interleave(weight.shape[1] // groups.shape[1], 1).double()
    zero = torch.zeros_like(groups) if zeros is None else zeros.reshape(groups.shape)
    zero = zero.repeat_interleave(weight.shape[1] // groups.shape[1], 1)
    return F.embedding(indices, (weight.double() - zero) * wide)


def _gru(x, hidden, w_i, w_i_scale, w_h, w_h_scale, b_i, b_i_scale, b_h, *more) -> Tensor:  # type: ignore[no-untyped-def]
    assert not more
    states = hidden.shape[-1]
    layer = torch.nn.GRUCell(x.shape[-1], states).double()
    scaled = ((w_i, w_i_scale), (w_h, w_h_scale), (b_i, b_i_scale), (b_h, b_i_scale))
    for parameter, (values, scale) in zip(layer.parameters(), scaled, strict=True):
        parameter.data = values.double() * scale
    found = layer(x.double().reshape(1, -1), hidden.double().reshape(1, -1)).detach()
    return torch.stack((found, found))


def _bits(mask: Tensor, threshold: float) -> Tensor:
    masked = ~mask if mask.dtype == torch.bool else mask < threshold
    return torch.from_numpy(np.packbits(masked.numpy(), axis=-1, bitorder="little"))


def _pair(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    def exact(a, a_scale, a_zero, b, b_scale, b_zero, scale, zero) -> Tensor:  # type: ignore[no-untyped-def]
        return function(_real(a, a_scale, a_zero), _real(b, b_scale, b_zero)) / _number(scale) + _number(zero)

    return exact


def _requantize(x, scale, zero, out_scale, out_zero, _dtype) -> Tensor:  # type: ignore[no-untyped-def]
    return _real(x, scale, zero) / _number(out_scale) + _number(out_zero)


EAGER: dict[str, Callable[..., Tensor | None]] = {
    r"quantize_per_tensor.*": lambda x, scale, zero, least, most, _: (x.double() / scale + zero).clamp(least, most),
    r"dequantize(_per_tensor.*)?": lambda x, scale, zero, *_: _real(x, scale, zero),
    r"requantize.*": _requantize,
    r"quantized_add(_asym.*|\.per_tensor)?": _pair(torch.add),
    r"quantized_mul(\.per_tensor)?": _pair(torch.mul),
    r"quantized_relu.*": lambda x, zero, out_zero, multiplier, shift: (
        F.relu(_real(x, 1, zero)) * _factor(multiplier, shift) + _number(out_zero)
    ),
    r"quantized_layer_norm.*": _layer_norm,
    r"quantized_softmax.*": _softmax,
    r"_softmax_f32_f32": lambda x, dim: torch.softmax(x.double(), dim),
    r"quantized_(linear|fully_connected).*": _linear,
    r"quantized_matmul.*": _matmul,
    r"fully_connected": lambda x, weight, bias: F.linear(
        x.double(), weight.double(), None if bias is None else bias.double()
    ),
    r"quantized_(conv2d_nchw|conv1d_ncl|depthwise_conv1d_ncl).*": lambda *args: _convolution(False, *args),
    r"quantized_(conv2d_nhwc|conv2d_depthwise_nhwc|conv1d_nlc|depthwise_conv1d_nlc).*": lambda *args: _convolution(
        True, *args
    ),
    r"(quantized_transposed_conv|transposed_convolution)": _transposed,
    r"conv[123]d": _floats,
    r"quantized_max_pool2d_nchw": lambda *args: _max_pool(False, *args),
    r"quantized_max_pool2d_nhwc": lambda *args: _max_pool(True, *args),
    r"avg_pool2d": _mean,
    r"quantized_w8a32_linear": lambda x, weight, scale, bias, b_scale: (
        x.double() @ (weight.double() * scale) + bias.double() * b_scale
    ),
    r"quantized_w8a32_conv": lambda x, weight, scale, bias, b_scale: F.conv1d(
        x.double().mT, weight.double().permute(1, 2, 0) * scale, bias.double() * b_scale
    ),
    r"quantized_w8a32_gru": _gru,
    r"rope": lambda *args: _turned(False, *args),
    r"rope_rotate_stacked_halves": lambda *args: _turned(True, *args),
    r"rms_norm": lambda x, shape, weight, eps: F.rms_norm(x.double(), shape, weight.double(), eps),
    r"quantized_embedding_byte": _embedding,
    r"sdpa_bitwise_mask_gen": _bits,
    r"where_Scalar": lambda mask, yes, no: torch.where(mask, yes, no),
    r"idma_(copy|load|store|wait)": lambda x, *_: x,
}
"""Pattern of operator names -> a function that computes the operator's result with PyTorch, in real numbers before they
are rounded to integers."""
_ELSEWHERE = {
    "linalg_svd",  # test_cadence_kernels.py
    "im2row", "im2row.per_tensor", "transposed_im2row",  # test_cadence_operators.py: a convolution is their product
    "quantized_add_Scalar", "quantized_mul_Scalar",  # only ExecuTorch's reference defines what they compute
}  # fmt: skip


def _eager(name: str) -> Callable[..., Tensor | None]:
    (function,) = (function for pattern, function in EAGER.items() if re.fullmatch(pattern, name))
    return function


@pytest.mark.parametrize("name", sorted(CALLS.keys() - _ELSEWHERE))
def test_kernels_give_what_eager_mode_gives(name: str) -> None:
    """CAD-02: the ends of ranges, sizes that vectors do not divide, and random parameters."""
    operator = overload(name, True)
    schema = overload(name, False)._schema.arguments
    names = [argument.name for argument in schema]
    defaults = {argument.name: argument.default_value for argument in schema if argument.has_default_value()}
    calls = 0
    for args in CALLS[name](Random(7)):
        exact = _eager(name)(*args)
        if exact is None:
            continue
        calls += 1
        like = OutputSpec.like(overload(name, False)(*(a.clone() if isinstance(a, Tensor) else a for a in args)))
        (found,) = run(operator, defaults | dict(zip(names, args, strict=False)), [like])
        _check(found, exact if "gru" not in name else exact.reshape(found.shape), args)
    assert calls > 0


def _check(found: Tensor, exact: Tensor, args: Any) -> None:
    assert found.shape == exact.shape, args
    if found.dtype.is_floating_point:
        torch.testing.assert_close(found.double(), exact.double(), rtol=1e-5, atol=1e-5)
        return
    limits = torch.iinfo(found.dtype)
    wanted, found = exact[~exact.isnan()].double().clamp(limits.min, limits.max), found[~exact.isnan()]
    # A kernel multiplies in float32, so that ties and the last bits of large numbers may be rounded differently.
    assert ((found.double() - wanted).abs() <= 0.5 + 1e-4 * wanted.abs().clamp(min=1)).all(), args


def test_every_operator_has_an_eager_counterpart() -> None:
    for name in CALLS.keys() - _ELSEWHERE:
        _eager(name)
    unused = [pattern for pattern in EAGER if not any(re.fullmatch(pattern, name) for name in CALLS)]
    assert not unused
