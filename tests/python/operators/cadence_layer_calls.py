# SPDX-License-Identifier: BSD-3-Clause
"""Random arguments of the layers of cadence: linear layers, matrix multiplications, convolutions, pools, windows."""

from __future__ import annotations

import torch
from cadence_random import BYTES, SIZES, Calls, Random, number_tensor


def linear_calls(r: Random, dtypes: tuple[torch.dtype, ...], one_row: bool) -> Calls:
    for dtype in dtypes:
        for inputs in (*SIZES, 700):
            outputs = r.randint(1, 9)
            weight_dtype = torch.int8 if dtype in (torch.int16, torch.int32) else dtype
            rows = r.choice(((1,), (1, 3), (1, 2, 2))) if one_row else r.choice(((2,), (2, 3), ()))
            yield (r.integers(dtype, *rows, inputs), r.integers(weight_dtype, outputs, inputs), r.bias(outputs),
                   r.zero_point(dtype), r.zero_point(weight_dtype), *r.multiplier(), r.zero_point(dtype),
                   None)  # fmt: skip


def linear_tensors(r: Random, one_row: bool) -> Calls:
    for x, weight, bias, zero, w_zero, multiplier, shift, *tail in linear_calls(r, BYTES, one_row):
        yield x, weight, bias, zero, number_tensor(w_zero), number_tensor(multiplier), number_tensor(shift), *tail


def matmul_calls(r: Random, dtypes: tuple[torch.dtype, ...]) -> Calls:
    for dtype in dtypes:
        for k in (*SIZES, 70):
            batch, m, n, transposed = r.choice(((), (2,), (2, 3))), r.randint(1, 4), r.randint(1, 70), r.random() < 0.5
            y = r.integers(dtype, *batch, n, k) if transposed else r.integers(dtype, *batch, k, n)
            x = r.integers(dtype, *batch, m, k)
            yield (x, r.zero_point(dtype), y, r.zero_point(dtype), None, *r.multiplier(), r.zero_point(dtype),
                   transposed)  # fmt: skip


def convolution_calls(r: Random, last: bool, spatial: tuple[int, ...], dtypes: tuple[torch.dtype, ...],
                 depthwise: bool = False, short: bool = False) -> Calls:  # fmt: skip
    for dtype in dtypes:
        for channels in (*SIZES[1:], 20):
            rank = r.choice(spatial)
            groups = channels if depthwise or r.random() < 0.2 else r.choice((1, 1, 2)) if channels % 2 == 0 else 1
            outputs = groups * r.randint(1, 3)
            kernel = [r.randint(1, 3) for _ in range(rank)]
            sizes = [r.choice((5, 7, 9, 70)) if d == rank - 1 else r.randint(5, 8) for d in range(rank)]
            weight_dtype = torch.int8 if dtype == torch.int16 else dtype
            inputs = channels // groups
            if not last:
                x, weight = (r.randint(1, 2), channels, *sizes), (outputs, inputs, *kernel)
            else:
                x = (r.randint(1, 2), *sizes, channels)
                is_short = groups == channels > 1 and (short or r.random() < 0.5)
                weight = (*kernel, outputs) if is_short else (outputs, *kernel, inputs)
            places = (
                [r.randint(1, 3) for _ in kernel],
                [r.randint(0, k) for k in kernel],
                [r.randint(1, 2) for _ in kernel],
            )
            bias_scale = 2.0 ** r.uniform(-12, -4)
            yield (r.integers(dtype, *x), r.integers(weight_dtype, *weight), r.bias(outputs), *places, groups,
                   r.zero_point(dtype), r.zero_point(weight_dtype), bias_scale, r.scale(), r.zero_point(dtype), 1,
                   0)  # fmt: skip


def convolution_tensors(r: Random, last: bool, spatial: tuple[int, ...]) -> Calls:
    for *head, w_zero, bias_scale, out_scale, out_zero, multiplier, shift in convolution_calls(r, last, spatial, BYTES):
        yield (
            *head,
            number_tensor(w_zero),
            torch.tensor([bias_scale]),
            out_scale,
            out_zero,
            number_tensor(multiplier),
            number_tensor(shift),
        )


def floats_calls(r: Random, spatial: int) -> Calls:
    for channels in SIZES[:6]:
        groups = 2 if channels % 2 == 0 else 1
        kernel = [r.randint(1, 3) for _ in range(spatial)]
        weight = r.floats(groups * 2, channels // groups, *kernel)
        places = ([r.randint(1, 2) for _ in kernel], [r.randint(0, 1) for _ in kernel], [1] * spatial)
        yield r.floats(2, channels, *[r.randint(4, 6)] * spatial), weight, r.floats(groups * 2), *places, groups


def transposed_calls(r: Random, quantized: bool) -> Calls:
    for channels in SIZES[:7]:
        last, spatial = r.random() < 0.5, r.choice((1, 2))
        groups = 2 if channels % 2 == 0 and r.random() < 0.5 else 1
        kernel = [r.randint(1, 3) for _ in range(spatial)]
        stride = [r.randint(1, 3) for _ in kernel]
        places = (stride, [r.randint(0, k - 1) for k in kernel], [r.randint(1, 2) for _ in kernel])
        more = [r.randint(0, s - 1) for s in stride]
        sizes, outputs = [r.randint(3, 6) for _ in kernel], r.randint(1, 3)
        x = (2, *sizes, channels) if last else (2, channels, *sizes)
        weight = (outputs, *kernel, channels) if last else (outputs, channels, *kernel)
        if not quantized:
            yield r.floats(*x), r.floats(*weight), r.floats(outputs * groups), *places, more, groups, last
            continue
        dtype = r.choice(BYTES)
        numbers = (r.zero_point(dtype), number_tensor(r.zero_point(dtype)), torch.tensor([2.0 ** r.uniform(-10, -4)]))
        yield (r.integers(dtype, *x), r.integers(dtype, *weight), r.bias(outputs * groups), *places, more, groups,
               *numbers, r.scale(), r.zero_point(dtype), number_tensor(1), number_tensor(0), last)  # fmt: skip


def max_pool_calls(r: Random, last: bool) -> Calls:
    for channels in SIZES:
        kernel = r.pair(1, 3)
        padding = [r.randint(0, size // 2) for size in kernel]
        x = (2, *r.pair(5, 9), channels) if last else (2, channels, *r.pair(5, 9))
        yield r.integers(r.choice(BYTES), *x), kernel, r.pair(1, 3), padding, r.pair(1, 2), r.random() < 0.5


def mean_calls(r: Random) -> Calls:
    for channels in SIZES:
        kernel, ceil = r.pair(1, 4), r.random() < 0.5
        padding, counts = [r.randint(0, size // 2) for size in kernel], r.random() < 0.5
        divisor = r.choice((None, None, 3))
        places = (kernel, r.pair(1, 3), padding, ceil, counts, divisor)
        yield r.floats(2, channels, 7, 9), *places, None, False
        dtype = r.choice(BYTES)
        yield r.integers(dtype, 2, channels, 7, 9), *places, number_tensor(r.zero_point(dtype)), False


def rows_calls(r: Random, number: bool, more: bool = False) -> Calls:
    for channels in SIZES:
        last, batch = r.random() < 0.5, r.randint(1, 3)
        kernel, dilation, padding, stride = r.pair(1, 3), r.pair(1, 2), r.pair(0, 1), r.pair(1, 3)
        dtype = r.choice((*BYTES, torch.int16))
        sizes = r.choice(([r.randint(5, 8)], r.pair(5, 8)))
        if len(sizes) == 1:
            kernel[0], padding[0] = 1, 0
        x = r.integers(dtype, batch, *sizes, channels) if last else r.integers(dtype, batch, channels, *sizes)
        zeros = torch.tensor([r.zero_point(dtype) for _ in range(r.choice((1, batch)))], dtype=torch.int32)
        zero = r.zero_point(dtype) if number else zeros
        output_padding = ([0, r.randint(0, stride[1] - 1)],) if more else ()
        yield x, kernel, dilation, padding, stride, *output_padding, zero, last


def layers_calls(r: Random) -> Calls:
    for inputs in SIZES:
        outputs = r.randint(1, 5)
        yield r.floats(1, 3, inputs), r.floats(outputs, inputs), r.choice((None, r.floats(outputs)))
