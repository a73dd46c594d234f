# SPDX-License-Identifier: BSD-3-Clause
"""Operators from int8 to int8 and 4-bit tables, which payloads of the original call, against their definitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hand_built import numbers
from test_device_payloads import VK, Call, bytes_of, check, everything_is_delegated, heads, integers

__all__ = ["everything_is_delegated"]  # the fixture, for this file as well


def close(function: Callable[..., Any], *inputs: torch.Tensor, **constants: torch.Tensor) -> None:
    """int8 results may differ by one: sums of floats in another order are rounded."""
    module = Call(function, **constants)
    expected = module(*inputs)
    assert expected.dtype != torch.int8 or expected.float().std() > 5, "the scales leave nothing to compare"
    check(module, inputs, tolerance=1.0 if expected.dtype == torch.int8 else 1e-4)


def matrix(outputs: int, *rest: int) -> dict[str, torch.Tensor]:
    """Weights, and sums, scales and a bias that are padded to a multiple of 4. The sums are random, too."""
    padded = (outputs + 3) // 4 * 4
    return {
        "w": integers(-127, 127, outputs, *rest),
        "sums": integers(-9, 9, padded, dtype=torch.int32),
        "s": numbers(padded).abs() * 0.002 + 0.001,
        "b": numbers(padded),
    }


@pytest.mark.parametrize("activation", ["none", "relu"])
def test_q8ta_linear(activation):
    for m, k, n in [(1, 64, 32), (5, 32, 7), (2, 12, 13)]:
        for operator in (VK.q8ta_linear, VK.q8ta_linear_gemv) if m == 1 else (VK.q8ta_linear,):
            close(
                lambda x, w, sums, s, b, operator=operator: operator(x, 0.05, 4, w, sums, s, 0.1, -3, b, activation),
                integers(-128, 127, m, k),
                **matrix(n, k),
            )


# Inputs, outputs, groups, kernel, stride, padding and dilation.
CONVOLUTIONS = [(4, 8, 1, 3, 1, 1, 1), (6, 9, 1, 3, 2, 1, 1), (8, 12, 2, 3, 1, 0, 1), (3, 5, 1, 3, 1, 2, 2)]


@pytest.mark.parametrize("activation", ["none", "relu"])
def test_q8ta_conv2d(activation):
    """Images of odd sizes; the rows of the weights are padded to a multiple of 4."""
    for inputs, outputs, groups, kernel, stride, padding, dilation in CONVOLUTIONS:
        row = (kernel * kernel * (inputs // groups) + 3) // 4 * 4
        sizes = [[kernel] * 2, [stride] * 2, [padding] * 2, [dilation] * 2, groups]
        close(
            lambda x, w, sums, s, b, sizes=sizes: VK.q8ta_conv2d(
                x, 0.05, 4, w, sums, s, 0.05, -3, b, *sizes, activation
            ),
            integers(-128, 127, 1, inputs, 7, 9),
            **matrix(outputs, row),
        )


def test_q8ta_conv2d_pw():
    for inputs, outputs in [(8, 12), (5, 7)]:
        close(
            lambda x, w, sums, s, b: VK.q8ta_conv2d_pw(
                x, 0.05, 4, w, sums, s, 0.05, -3, b, [1, 1], [1, 1], [0, 0], [1, 1], 1, "none"
            ),
            integers(-128, 127, 1, inputs, 5, 6),
            **matrix(outputs, (inputs + 3) // 4 * 4),
        )


def test_q8ta_conv2d_dw():
    for channels, stride in [(8, 1), (6, 2)]:
        constants = matrix(channels, 3) | {"w": integers(-127, 127, 3, 3, channels)}
        close(
            lambda x, w, sums, s, b, stride=stride, channels=channels: VK.q8ta_conv2d_dw(
                x, 0.05, 4, w, sums, s, 0.05, 2, b, [3, 3], [stride] * 2, [1, 1], [1, 1], channels, "none"
            ),
            integers(-128, 127, 1, channels, 7, 9),
            **constants,
        )


def test_q8ta_conv2d_transposed():
    for inputs, outputs in [(4, 8), (6, 5)]:
        close(
            lambda x, w, sums, s, b: VK.q8ta_conv2d_transposed(
                x, 0.05, 4, w, sums, s, 0.05, -3, b, [3, 3], [2, 2], [1, 1], [1, 1], [1, 1], 1, "none"
            ),
            integers(-128, 127, 1, inputs, 4, 5),
            **matrix(outputs, (9 * inputs + 3) // 4 * 4),
        )


def test_q8ta_add_relu_and_pixel_shuffle():
    a, b = integers(-128, 127, 1, 8, 5, 3), integers(-120, 120, 1, 8, 5, 3)
    close(lambda a, b: VK.q8ta_add(a, b, 0.05, 3, 0.02, -4, 0.06, 5, 2.0), a, b)
    close(lambda a: VK.q8ta_relu(a, 0.05, 3, 0.02, -100), a)
    close(lambda a: VK.q8ta_pixel_shuffle(a, 0.05, 3, 12.5, -1, 2), a)


@pytest.mark.parametrize("is_linear_weight", [False, True])
def test_embedding_q4gsw(is_linear_weight):
    for rows, width, group in [(9, 64, 32), (5, 12, 4)]:
        check(
            Call(
                lambda i, w, s, group=group: VK.embedding_q4gsw(w, s, group, i, is_linear_weight),
                w=bytes_of(rows, width // 2),
                s=numbers(rows, width // group),
            ),
            (torch.tensor([[0, rows - 1, 2], [1, 1, 3]]),),
        )


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_rotary_embeddings_of_pairs(half):
    table, tolerance = numbers(5, 4), 1e-2 if half else 1e-4
    module = Call(VK.apply_rotary_emb, freqs_cos=table.cos(), freqs_sin=table.sin())
    check(module, (heads(5, 4), heads(5, 2)), half=half, tolerance=tolerance)
    module = Call(VK.apply_rotary_emb_interleaved, freqs_cis=torch.stack((table.cos(), table.sin()), -1).flatten(1))
    check(module, (numbers(3, 5, 8),), half=half, tolerance=tolerance)


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_sdpa(half):
    """Fewer or more keys than queries; a mask for all heads, with infinities; a scale."""
    q, tolerance = numbers(2, 4, 5, 8), 2e-2 if half else 1e-4
    for keys in (1, 3, 9):
        k, v = numbers(2, 4, keys, 8), numbers(2, 4, keys, 8, seed=1)
        check(Call(lambda q, k, v: VK.sdpa(q, k, v, None, 0.3)), (q, k, v), half=half, tolerance=tolerance)
        mask = torch.where(numbers(1, 1, 5, keys) > 1, -torch.inf, 0.5)
        mask[..., 0] = 0
        check(Call(lambda q, k, v, m: VK.sdpa(q, k, v, m)), (q, k, v, mask), half=half, tolerance=tolerance)
