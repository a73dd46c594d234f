# SPDX-License-Identifier: BSD-3-Clause
"""The difference between two outputs."""

from __future__ import annotations

import math

import pytest
import torch

from sdk.export.cli.verify import TOLERANCE, OutputError, compared_elements, differences, tensor_difference

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
        *(([NAN], [value], (INF, INF)) for value in (0.0, 0.5, -0.5, 1.0, 3.4e38, INF, -INF)),
        *(([INF], [value], (INF, INF)) for value in (0.0, 0.5, 3.4e38, NAN, -INF)),
    ],
)
def test_tensor_difference(expected: list[float], actual: list[float], difference: tuple[float, float]) -> None:
    assert tensor_difference(torch.tensor(expected), torch.tensor(actual)) == difference


def test_integers_must_be_equal() -> None:
    assert tensor_difference(torch.tensor([4, 2]), torch.tensor([4, 1])) == (1.0, 0.25)
    assert not OutputError(0, "int64[2]", 1.0, 0.25, 0.0).within


@pytest.mark.parametrize(
    ("max_abs", "max_rel", "rounding", "within"),
    [
        (1.0, 1e-5, 0.0, True),
        (1.0, 1e-3, 0.0, False),
        (1e-7, INF, 1e-6, True),
        (1e-7, INF, 1e-8, False),
        (1e-3, INF, 1e-2, False),
        (1e-9, 1.0, 0.0, False),
        (NAN, NAN, INF, False),
    ],
)
def test_tolerance(max_abs: float, max_rel: float, rounding: float, within: bool) -> None:
    assert OutputError(0, "float32[1]", max_abs, max_rel, 1e-4, rounding=rounding).within is within


@pytest.mark.parametrize("dtype", [torch.complex32, torch.complex64, torch.complex128])
def test_complex_numbers_are_compared_by_their_parts(dtype: torch.dtype) -> None:
    """Real and imaginary parts have the tolerance of their dtype."""
    real = {torch.complex32: torch.float16, torch.complex64: torch.float32, torch.complex128: torch.float64}[dtype]
    assert TOLERANCE[dtype] == TOLERANCE[real]
    expected = torch.tensor([1 - 4j, complex(NAN, 1), 2j]).to(dtype)
    assert tensor_difference(expected, expected.clone()) == (0.0, 0.0)
    assert tensor_difference(expected, torch.tensor([1 - 5j, complex(NAN, 1), 2j]).to(dtype)) == (1.0, 0.25)
    assert compared_elements(expected) == 2
    (found,) = differences(expected, [expected.clone()], None)
    assert found.within and (found.elements, found.compared) == (3, 2)


def test_large_integers_are_told_apart() -> None:
    """2^53 and 2^53 + 1 are the same float64."""
    assert tensor_difference(torch.tensor([2**53]), torch.tensor([2**53 + 1]))[0] > 0
    assert tensor_difference(torch.tensor([2**53 + 1]), torch.tensor([2**53 + 1])) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("eager", "counts"),
    [
        (torch.tensor([NAN, INF]), (2, 0)),
        (torch.tensor([NAN, 1.0]), (2, 1)),
        (torch.tensor([1, 2]), (2, 2)),
        (torch.zeros(0, 3), (0, 0)),
        (3, (1, 1)),
        (NAN, (1, 0)),
    ],
)
def test_what_was_compared_is_counted(eager: object, counts: tuple[int, int]) -> None:
    (found,) = differences(eager, [eager.clone() if isinstance(eager, torch.Tensor) else eager], None)
    assert found.within and (found.elements, found.compared) == counts


def test_the_first_call_that_differs_is_named() -> None:
    right, wrong, worse = (OutputError(0, "", 1, rel, 1e-4, call, 4, 3) for call, rel in enumerate((1e-5, 0.1, 1.0), 1))
    joined = right.joined(wrong).joined(worse)
    assert (joined.call, joined.max_rel, joined.elements, joined.compared) == (2, 0.1, 12, 9)
    near = OutputError(0, "", 1, 5e-5, 1e-4, 2)
    assert right.joined(near).call == 2 and near.joined(right).call == 2
