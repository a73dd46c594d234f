# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of cadence that compute in blocks, compared with the references at sizes around the blocks' ends: integers
exactly, and with zero points at their ends, so that sums are the largest."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from cadence_random import BYTES, Random
from single_operator import OutputSpec, run

import sdk.backends.cadence.aot.ops_registrations  # noqa: F401  (registers the operators)

# Channels, outputs, groups, kernel: outputs around 16 and 64, windows around 192 elements and above 8192, at most three
# outputs of a group, channels of one group around 32, kernels of 32 and of 36 elements, and lines of 7, 32 and 33.
_LAYERS = [
    (3, 63, 1, (3, 3)), (16, 64, 1, (1, 1)), (16, 130, 2, (1, 3)), (114, 5, 1, (3, 3)), (1030, 4, 1, (1, 1)),
    (32, 32, 32, (3, 3)), (65, 65, 65, (4, 8)), (33, 33, 33, (6, 6)), (6, 24, 6, (3, 2)), (1, 7, 1, (5, 5)),
    (1030, 4, 1, (3, 3)), (21, 17, 1, (3, 3)), (5, 1, 1, (3, 3)), (6, 12, 6, (3, 2)), (6, 6, 2, (2, 3)),
    (2, 2, 1, (1, 32)), (2, 2, 1, (1, 33)), (192, 16, 1, (1, 1)), (5, 5, 5, (2, 7)),
]  # fmt: skip
# Kernel, stride and dilation of columns: lines of 70 results, of which 64, 48 or 16 need at most 256 elements of the
# input, or 16 need more; and windows of 256 and of 257 elements.
_LINES = [(3, 1, 1), (3, 3, 1), (3, 4, 3), (2, 5, 1), (5, 15, 7), (3, 17, 1), (2, 1, 255), (2, 1, 256)]


def _bytes(r: Random, dtype: torch.dtype, ends: bool, *shape: int) -> torch.Tensor:
    limits = torch.iinfo(dtype)
    return torch.full(shape, limits.min, dtype=dtype) if ends else r.integers(dtype, *shape)


def _check(operator: Any, args: dict[str, Any]) -> None:
    names = [argument.name for argument in operator[0]._schema.arguments]
    given = {name: value for name, value in args.items() if name in names}
    expected = operator[0](**given)
    (found,) = run(operator[1], {"offset": None, **given}, [OutputSpec.like(expected)])
    assert torch.equal(found, expected), {name: value for name, value in args.items() if not torch.is_tensor(value)}


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("dtype", BYTES, ids=str)
@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("layer", _LAYERS, ids=str)
def test_convolutions(layer: tuple[int, int, int, tuple[int, int]], last: bool, dtype: torch.dtype, ends: bool) -> None:
    """CAD-02: with strides, dilations and padding, in both orders."""
    channels, outputs, groups, kernel = layer
    r = Random(channels + outputs)
    x, weight = (2, channels, 9, 11), (outputs, channels // groups, *kernel)
    limits = torch.iinfo(dtype)
    zeros = (limits.max, limits.max) if ends else (r.zero_point(dtype), r.zero_point(dtype))
    for stride, dilation in ((1, 1), (2, 1)):
        args = {
            "input": _bytes(r, dtype, ends, *x), "weight": _bytes(r, dtype, ends, *weight), "bias": r.bias(outputs),
            "stride": [stride, 1], "padding": [k // 2 for k in kernel], "dilation": [dilation, dilation],
            "groups": groups, "input_zero_point": zeros[0], "weight_zero_point": zeros[1], "bias_scale": 2.0**-16,
            "out_scale": 2.0**-3 * channels, "out_zero_point": r.zero_point(dtype), "out_multiplier": 1, "out_shift": 0,
        }  # fmt: skip
        if last:
            args["input"] = args["input"].permute(0, 2, 3, 1).contiguous()
            args["weight"] = args["weight"].permute(0, 2, 3, 1).contiguous()
        kind = torch.ops.cadence.quantized_conv2d_nhwc if last else torch.ops.cadence.quantized_conv2d_nchw
        _check((kind.per_tensor, kind.per_tensor_out), args)


@pytest.mark.parametrize("outputs", [2, 17])
@pytest.mark.parametrize("line", _LINES, ids=str)
def test_lines(line: tuple[int, int, int], outputs: int) -> None:
    """CAD-02: convolutions of long lines, channels first, with few and many outputs."""
    kernel, stride, dilation = line
    r = Random(kernel * stride)
    width = 69 * stride + (kernel - 1) * dilation + 1 - 2 * (kernel // 2)
    args = {
        "input": r.integers(torch.int8, 2, 3, width), "weight": r.integers(torch.int8, outputs, 3, kernel),
        "bias": r.bias(outputs), "stride": [stride], "padding": [kernel // 2], "dilation": [dilation], "groups": 1,
        "input_zero_point": 3, "weight_zero_point": -7, "bias_scale": 2.0**-16, "out_scale": 0.25, "out_zero_point": -5,
        "out_multiplier": 1, "out_shift": 0,
    }  # fmt: skip
    kind = torch.ops.cadence.quantized_conv1d_ncl
    _check((kind.per_tensor, kind.per_tensor_out), args)


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("dtype", BYTES, ids=str)
@pytest.mark.parametrize(
    "size", [(1, 191, 15), (2, 192, 16), (5, 193, 17), (65, 400, 33), (3, 8192, 4), (2, 8193, 4), (3, 1, 1)], ids=str
)
def test_linear_layers(size: tuple[int, int, int], dtype: torch.dtype, ends: bool) -> None:
    """CAD-02: rows, inputs and outputs around the sizes of a block."""
    rows, inputs, outputs = size
    r, limits = Random(rows * inputs), torch.iinfo(dtype)
    zeros = (limits.max, limits.max) if ends else (r.zero_point(dtype), r.zero_point(dtype))
    args = {
        "src": _bytes(r, dtype, ends, rows, inputs), "weight": _bytes(r, dtype, ends, outputs, inputs),
        "bias": r.bias(outputs), "src_zero_point": zeros[0], "weight_zero_point": zeros[1], "out_multiplier": 1 << 30,
        "out_shift": -12, "out_zero_point": r.zero_point(dtype), "offset": None,
    }  # fmt: skip
    kind = torch.ops.cadence.quantized_linear
    _check((kind.per_tensor, kind.per_tensor_out), args)


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("dtype", BYTES, ids=str)
@pytest.mark.parametrize(
    "size",
    [(1, 130, 33), (2, 191, 15), (15, 192, 16), (17, 193, 33), (65, 400, 17), (2, 8192, 3), (2, 8193, 3), (3, 1, 1)],
    ids=str,
)
def test_matrices(size: tuple[int, int, int], dtype: torch.dtype, ends: bool) -> None:
    """CAD-02: products of two matrices, of which the second may be transposed."""
    m, k, n = size
    r, limits = Random(m * k), torch.iinfo(dtype)
    for transposed in (False, True):
        zeros = (limits.max, limits.max) if ends else (r.zero_point(dtype), r.zero_point(dtype))
        args = {
            "X": _bytes(r, dtype, ends, 2, m, k), "Y": _bytes(r, dtype, ends, 2, *((n, k) if transposed else (k, n))),
            "X_zero_point": zeros[0], "Y_zero_point": zeros[1], "bias": None, "out_multiplier": 1 << 30,
            "out_shift": -12, "out_zero_point": r.zero_point(dtype), "transposed": transposed,
        }  # fmt: skip
        _check((torch.ops.cadence.quantized_matmul.default, torch.ops.cadence.quantized_matmul.out), args)


@pytest.mark.parametrize("length", [63, 64, 65, 130])
def test_layer_norms(length: int) -> None:
    """CAD-02: results differ by at most one step, and only where the last bit of a float decides a tie."""
    r = Random(length)
    weight, bias = r.floats(length), r.floats(length)
    kind = torch.ops.cadence.quantized_layer_norm
    args = {
        "X": r.integers(torch.int8, 5, length), "X_scale": 0.05, "X_zero_point": 3, "normalized_shape": [length],
        "weight": weight, "bias": bias, "eps": 1e-5, "output_scale": 0.03, "output_zero_point": -5,
    }  # fmt: skip
    expected = kind.per_tensor(**args)
    (found,) = run(kind.per_tensor_out, args, [OutputSpec.like(expected)])
    difference = (found.int() - expected.int()).abs()
    assert difference.max() <= 1 and (difference > 0).sum() <= 5


@pytest.mark.parametrize("length", [1, 127, 128, 300])
@pytest.mark.parametrize("dtype", BYTES, ids=str)
def test_softmax(dtype: torch.dtype, length: int) -> None:
    """CAD-02: lines with tables of exponentials and of results, adjacent or not; a tie may be decided otherwise."""
    r = Random(length)
    limits = torch.iinfo(dtype)
    kind = torch.ops.cadence.quantized_softmax
    for scale, dim in itertools.product((0.002, 0.05, 1.5), (1, -1)):
        x = r.integers(dtype, 9, 30, length)
        args = {
            "input": x.transpose(1, 2).contiguous() if dim == 1 else x, "mask": torch.zeros(1, dtype=torch.int32),
            "dim": dim, "mask_type": 0, "pos": torch.zeros(1), "in_scale": scale,
            "in_zero_point": r.zero_point(dtype), "out_scale": 1 / 256, "out_zero_point": limits.min,
        }  # fmt: skip
        expected = kind.per_tensor(**args)
        (found,) = run(kind.per_tensor_out, args, [OutputSpec.like(expected)])
        difference = (found.int() - expected.int()).abs()
        assert difference.max() <= 1 and (difference > 0).sum() * 1000 <= difference.numel()
