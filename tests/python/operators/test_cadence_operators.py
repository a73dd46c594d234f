# SPDX-License-Identifier: BSD-3-Clause
"""The reference implementations of cadence's operators, compared with exact integer arithmetic and with PyTorch's
floating-point operators."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from cadence_calls import CALLS, overload
from cadence_random import Random

import sdk.backends.cadence.aot.ops_registrations  # noqa: F401  (registers the operators)

ops = torch.ops.cadence
_SHAPES_ONLY = {"linalg_svd"}
"""Operators with several right results."""


@pytest.mark.parametrize("name", sorted(CALLS.keys() - _SHAPES_ONLY - {"slice_scatter_"}))
def test_fake_tensors_have_the_shape_of_the_results(name: str) -> None:
    for args in CALLS[name](Random(0)):
        expected = overload(name, False)(*args)
        if name == "quantized_w8a32_linear":
            continue  # tested below, because its shape depends on the layout of the weights
        fake = overload(name, False)(*(arg.to("meta") if isinstance(arg, torch.Tensor) else arg for arg in args))
        assert (fake.dtype, fake.shape) == (expected.dtype, expected.shape), args
        assert fake.is_contiguous() and expected.is_contiguous()


def _within_half_a_step(found: torch.Tensor, exact: torch.Tensor) -> None:
    limits = torch.iinfo(found.dtype)
    wanted = exact.clamp(limits.min, limits.max)
    assert ((found.double() - wanted).abs() <= 0.5 + 1e-4 * wanted.abs().clamp(min=1)).all()


def _factor(multiplier: int, shift: int) -> float:
    return abs(multiplier) / 2**31 * 2.0**shift


@pytest.mark.parametrize("seed", range(3))
def test_references_are_exact_products(seed: int) -> None:
    r = Random(seed)
    for x, weight, bias, zero, w_zero, multiplier, shift, out_zero, _ in CALLS["quantized_linear.per_tensor"](r):
        sums = (x.long() - zero) @ (weight.long() - w_zero).T + bias.long()
        found = ops.quantized_linear.per_tensor(x, weight, bias, zero, w_zero, multiplier, shift, out_zero, None)
        _within_half_a_step(found, sums.double() * _factor(multiplier, shift) + out_zero)
    for x, zero, y, y_zero, _, multiplier, shift, out_zero, transposed in CALLS["quantized_matmul"](r):
        right = y.long().transpose(-1, -2) if transposed else y.long()
        found = ops.quantized_matmul(x, zero, y, y_zero, None, multiplier, shift, out_zero, transposed)
        exact = ((x.long() - zero) @ (right - y_zero)).double() * _factor(multiplier, shift) + out_zero
        _within_half_a_step(found, exact)


@pytest.mark.parametrize("seed", range(3))
def test_references_are_exact_sums(seed: int) -> None:
    r = Random(seed)
    for a, a_scale, a_zero, b, b_scale, b_zero, scale, zero in CALLS["quantized_add.per_tensor"](r):
        exact = (a.double() - a_zero) * a_scale + (b.double() - b_zero) * b_scale
        found = ops.quantized_add.per_tensor(a, a_scale, a_zero, b, b_scale, b_zero, scale, zero)
        _within_half_a_step(found, exact / scale + zero)
        product = (a.double() - a_zero) * a_scale * (b.double() - b_zero) * b_scale
        _within_half_a_step(ops.quantized_mul.per_tensor(a, a_scale, a_zero, b, b_scale, b_zero, scale, zero),
                            product / scale + zero)  # fmt: skip
    for x, scale, zero, out_scale, out_zero, dtype in CALLS["requantize.per_tensor"](r):
        found = ops.requantize.per_tensor(x, scale, zero, out_scale, out_zero, dtype)
        _within_half_a_step(found, (x.double() - zero) * scale / out_scale + out_zero)
    for x, zero, out_zero, multiplier, shift in CALLS["quantized_relu.per_tensor"](r):
        exact = (x.double() - zero).clamp(min=0) * _factor(multiplier, shift) + out_zero
        _within_half_a_step(ops.quantized_relu.per_tensor(x, zero, out_zero, multiplier, shift), exact)


@pytest.mark.parametrize("name", ["conv2d_nchw", "conv2d_nhwc", "conv1d_ncl", "conv1d_nlc"])
def test_references_are_convolutions(name: str) -> None:
    """Against PyTorch's convolution of the dequantised values, in float64."""
    for x, weight, bias, *places, groups, zero, w_zero, scale, out_scale, out_zero, _, _ in CALLS[
        f"quantized_{name}.per_tensor"
    ](Random(0)):
        spatial = x.dim() - 2
        real, kernel = (x.double() - zero) * scale, weight.double() - w_zero
        if name.endswith("c"):
            real = real.movedim(-1, 1)
            is_short = kernel.dim() < x.dim()
            kernel = kernel.movedim(-1, 0).unsqueeze(1) if is_short else kernel.movedim(-1, 1)
        function = F.conv1d if spatial == 1 else F.conv2d
        exact = function(real, kernel, bias.double() * scale, *places, groups)
        exact = exact.movedim(1, -1) if name.endswith("c") else exact
        operator = getattr(ops, f"quantized_{name}").per_tensor
        found = operator(x, weight, bias, *places, groups, zero, w_zero, scale, out_scale, out_zero, 1, 0)
        _within_half_a_step(found, exact / out_scale + out_zero)


def test_transposed_convolutions_are_those_of_pytorch() -> None:
    for x, weight, bias, stride, padding, dilation, more, groups, last in CALLS["transposed_convolution"](Random(1)):
        if last:
            continue
        kernel = weight.flip(*range(2, weight.dim())).transpose(0, 1)
        function = F.conv_transpose1d if x.dim() == 3 else F.conv_transpose2d
        expected = function(x, kernel, bias, stride, padding, more, groups, dilation)
        found = ops.transposed_convolution(x, weight, bias, stride, padding, dilation, more, groups)
        torch.testing.assert_close(found, expected)


def test_rows_are_the_windows_of_a_convolution() -> None:
    """A convolution equals the matrix multiplication of its rows and weights, and so does a transposed one."""
    r = Random(2)
    x, weight = r.floats(2, 3, 6, 7), r.floats(4, 3, 2, 3)
    rows = ops.im2row.per_tensor(x, [2, 3], [1, 2], [1, 1], [2, 1], 0)
    expected = F.conv2d(x, weight, None, (2, 1), (1, 1), (1, 2)).flatten(2)
    torch.testing.assert_close((rows @ weight.flatten(1).T).transpose(1, 2), expected)
    weight = r.floats(3, 4, 2, 3)
    rows = ops.transposed_im2row(x, [2, 3], [1, 1], [0, 1], [2, 3], [1, 0], torch.zeros(1, dtype=torch.int32))
    expected = F.conv_transpose2d(x, weight, None, (2, 3), (0, 1), (1, 0)).flatten(2)
    flipped = weight.flip(2, 3).transpose(0, 1).flatten(1)
    torch.testing.assert_close((rows @ flipped.T).transpose(1, 2), expected)


def test_recurrent_layer_is_that_of_pytorch() -> None:
    r = Random(3)
    x, hidden = r.floats(1, 1, 5), r.floats(1, 1, 8)
    layer = torch.nn.GRU(5, 8, batch_first=True)
    integers = [r.integers(torch.int8, *shape) for shape in ((24, 5), (24, 8), (24,), (24,))]
    for parameter, values, scale in zip(layer.parameters(), integers, (0.01, 0.02, 0.03, 0.03), strict=True):
        parameter.data = values.float() * scale
    expected, _ = layer(x, hidden)
    found = ops.quantized_w8a32_gru(x, hidden, integers[0], 0.01, integers[1], 0.02, integers[2], 0.03, integers[3])
    torch.testing.assert_close(found, torch.stack((expected, expected)).detach())


def test_refusals_say_what_is_expected() -> None:
    x, bias = torch.zeros(2, 4, dtype=torch.int8), torch.zeros(3, dtype=torch.int32)
    weight = torch.zeros(3, 4, dtype=torch.int8)
    with pytest.raises(ValueError, match="expected a batch of 1, found 2"):
        ops.quantized_fully_connected.per_tensor(x, weight, bias, 0, 0, 1, 0, 0, None)
    with pytest.raises(ValueError, match=r"expected a bias of torch\.int32, found"):
        ops.quantized_linear.per_tensor(x, weight, bias.to(torch.int8), 0, 0, 1, 0, 0, None)
    with pytest.raises(ValueError, match="multiplier that is not zero"):
        ops.quantized_linear.per_tensor(x, weight, bias, 0, 0, 0, 0, 0, None)
    with pytest.raises(ValueError, match=r"expected src of torch\.uint8, found"):
        ops.quantized_linear_asym8uxasym8u_asym8u.per_tensor(x, weight, bias, 0, 0, 1, 0, 0, None)
    with pytest.raises(NotImplementedError, match="not published"):
        ops.roi_align_box_processor(torch.zeros(1, 5), 7, 7, 2, True)
