# SPDX-License-Identifier: BSD-3-Clause
"""The difference between two outputs."""

from __future__ import annotations

import math

import pytest
import torch

from sdk.export.cli.verify import OutputError, tensor_difference

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("expected", "actual", "difference"),
    [
        ([1.0, -2.0], [1.0, -2.0], (0.0, 0.0)),
        ([1.0, -4.0], [1.5, -4.0], (0.5, 0.125)),
        ([0.0, 0.0], [0.0, 0.25], (0.25, INF)),
        ([], [], (0.0, 0.0)),
        ([NAN, INF, 2.0], [NAN, INF, 1.0], (1.0, 0.5)),
        ([INF, 2.0], [-INF, 2.0], (INF, INF)),
        ([NAN, 2.0], [1.0, 2.0], (INF, INF)),
        ([1.0, 2.0], [1.0, NAN], (INF, INF)),
        ([NAN], [NAN], (0.0, 0.0)),
    ],
)
def test_tensor_difference(expected: list[float], actual: list[float], difference: tuple[float, float]) -> None:
    assert tensor_difference(torch.tensor(expected), torch.tensor(actual)) == difference


def test_integers_must_be_equal() -> None:
    assert tensor_difference(torch.tensor([4, 2]), torch.tensor([4, 1])) == (1.0, 0.25)
    assert not OutputError(0, "int64[2]", 1.0, 0.25, 0.0).within


@pytest.mark.parametrize(
    ("max_abs", "max_rel", "within"),
    [(1.0, 1e-5, True), (1.0, 1e-3, False), (1e-7, INF, True), (1e-3, INF, False), (NAN, NAN, False)],
)
def test_tolerance(max_abs: float, max_rel: float, within: bool) -> None:
    assert OutputError(0, "float32[1]", max_abs, max_rel, 1e-4).within is within
