# SPDX-License-Identifier: BSD-3-Clause
"""Calls of operators in training graphs: their arguments are outputs of the forward operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

aten = torch.ops.aten

Calls = Iterator[tuple[Any, ...]]


def make(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Returns random numbers from -9 to 9, limited to the range of the dtype."""
    return torch.testing.make_tensor(shape, dtype=dtype, device="cpu")


def avg_pool2d_backward(dtype: torch.dtype) -> Calls:
    for x in (make((2, 3, 7, 6), dtype), make((3, 5, 8), dtype)):
        for kernel, stride, padding, ceil, include, divisor in (
            ([3, 2], [2, 1], [1, 0], False, True, None),
            ([3, 3], [2, 2], [1, 1], True, False, None),
            ([2, 2], [], [0, 0], True, True, 3),
        ):
            arguments = (kernel, stride, padding, ceil, include, divisor)
            gradient = make(tuple(aten.avg_pool2d(x.float(), *arguments).shape), dtype)
            yield aten.avg_pool2d_backward.default, gradient, x, *arguments


def adaptive_avg_pool2d_backward(dtype: torch.dtype) -> Calls:
    for x in (make((2, 3, 7, 6), dtype), make((3, 5, 8), dtype)):
        for size in ((3, 2), (1, 1), (7, 9)):
            yield aten._adaptive_avg_pool2d_backward.default, make((*x.shape[:-2], *size), dtype), x


def max_pool2d_backward(dtype: torch.dtype) -> Calls:
    for x in (make((2, 3, 7, 6), dtype), make((3, 5, 8), dtype)):
        for arguments in (([3, 2], [2, 1], [1, 0], [1, 1], False), ([2, 2], [], [0, 0], [2, 1], True)):
            values, indices = aten.max_pool2d_with_indices(x.float(), *arguments)
            yield (
                aten.max_pool2d_with_indices_backward.default,
                make(tuple(values.shape), dtype),
                x,
                *arguments,
                indices,
            )


def convolution_backward(dtype: torch.dtype) -> Calls:
    for x, weight, stride, padding, dilation, transposed, output_padding, groups in (
        ((2, 4, 7), (6, 4, 3), [2], [1], [1], False, [0], 1),
        ((2, 4, 7, 6), (6, 2, 3, 2), [2, 1], [1, 0], [1, 2], False, [0, 0], 2),
        ((2, 4, 5, 6), (4, 3, 3, 2), [2, 1], [1, 0], [1, 1], True, [1, 0], 2),
        ((1, 2, 4, 5, 4), (3, 2, 2, 3, 2), [1, 2, 1], [0, 1, 1], [1, 1, 1], False, [0, 0, 0], 1),
    ):
        arguments = (stride, padding, dilation, transposed, output_padding, groups)
        a, w = make(x, dtype), make(weight, dtype)
        out = aten.convolution(a.float(), w.float(), None, *arguments)
        for mask in ([True, True, True], [False, True, False], [True, False, False]):
            gradient = make(tuple(out.shape), dtype)
            yield aten.convolution_backward.default, gradient, a, w, [out.shape[1]], *arguments, mask


def layer_norm_backward(dtype: torch.dtype) -> Calls:
    for shape, normalized in (((3, 4, 5), [5]), ((3, 4, 5), [4, 5]), ((6,), [6])):
        x, gradient = make(shape, dtype), make(shape, dtype)
        weight, bias = make(tuple(normalized), dtype), make(tuple(normalized), dtype)
        _, mean, rstd = aten.native_layer_norm(x, normalized, weight, bias, 1e-5)
        for mask in ([True, True, True], [True, False, False]):
            yield aten.native_layer_norm_backward.default, gradient, x, normalized, mean, rstd, weight, bias, mask


def group_norm_backward(dtype: torch.dtype) -> Calls:
    x, gradient, weight, bias = (make(shape, dtype) for shape in ((2, 6, 3, 4), (2, 6, 3, 4), (6,), (6,)))
    _, mean, rstd = aten.native_group_norm(x, weight, bias, 2, 6, 12, 3, 1e-5)
    for scale, mask in ((weight, [True, True, True]), (None, [True, False, False])):
        yield aten.native_group_norm_backward.default, gradient, x, mean, rstd, scale, 2, 6, 12, 3, mask


def embedding_backward(dtype: torch.dtype) -> Calls:
    indices = torch.tensor([[0, 2, 2], [4, 1, 0]])
    for padding, by_frequency in ((-1, False), (2, False), (0, True)):
        yield aten.embedding_dense_backward.default, make((2, 3, 4), dtype), indices, 5, padding, by_frequency
