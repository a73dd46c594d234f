# SPDX-License-Identifier: BSD-3-Clause
"""Distances between the finite elements of two arrays. They are NaN if the shapes, the infinities or the positions of
NaNs differ."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

_logger = logging.getLogger(__name__)


def to_np_arr_fp64(x: np.ndarray | torch.Tensor) -> np.ndarray:
    """Returns the elements in float64."""
    return (x.detach().cpu().to(torch.float64).numpy() if isinstance(x, torch.Tensor) else x).astype(np.float64)


def distance(
    measure: Callable[[Any, Any], Any],
) -> Callable[[np.ndarray | torch.Tensor, np.ndarray | torch.Tensor], float]:
    """Extends a distance of finite arrays to arrays with infinities and NaNs."""

    def measured(a: np.ndarray | torch.Tensor, b: np.ndarray | torch.Tensor) -> float:
        x, y = to_np_arr_fp64(a), to_np_arr_fp64(b)
        if x.shape != y.shape or not np.array_equal(np.isnan(x), np.isnan(y)):
            return float("nan")
        infinite = np.isinf(x) | np.isinf(y)
        if not np.array_equal(x[infinite], y[infinite]):
            return float("nan")
        finite = np.isfinite(x)
        if not finite.all():
            _logger.warning("%d elements are infinite or NaN in both arrays", finite.size - int(finite.sum()))
        return float(measure(x[finite], y[finite])) if finite.any() else 0.0

    measured.__doc__ = measure.__doc__
    return measured


@distance
def rms(a: Any, b: Any) -> Any:
    """The root of the mean squared difference."""
    return np.sqrt(np.mean((a - b) ** 2))


@distance
def max_abs_diff(a: Any, b: Any) -> Any:
    """The largest difference."""
    return np.abs(a - b).max()


@distance
def max_rel_diff(x: Any, x_ref: Any) -> Any:
    """The largest difference, relative to the second array; infinite where that has a zero and the first does not."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(np.abs((x - x_ref) / x_ref), nan=0.0, posinf=np.inf).max()


def normalized_rms(predicted: np.ndarray | torch.Tensor, ground_truth: np.ndarray | torch.Tensor) -> float:
    """`rms` divided by the Euclidean norm of the second array."""
    difference = rms(predicted, ground_truth)
    return difference if difference == 0 else difference / float(np.linalg.norm(to_np_arr_fp64(ground_truth)))
