# SPDX-License-Identifier: BSD-3-Clause
"""Distances between recorded values and expected ones.

With the expected values r, the recorded ones v and the difference d = v - r of n elements:

    L1                 sum |d|
    MSE                sum d^2 / n
    SNR                10 log10(sum r^2 / sum d^2), in dB; infinite where nothing differs
    cosine similarity  sum r v / sqrt(sum r^2 sum v^2)

All are computed in float64. An element that is NaN in both, or the same infinity in both, does not differ; one that is
NaN or infinite in one of them differs infinitely.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch


def convert_to_float_tensor(input_data: Any) -> torch.Tensor:
    """A tensor, a number or a list of them as a float64 tensor on the CPU; the elements of several tensors in one
    dimension. Raises ValueError for anything else."""
    if isinstance(input_data, torch.Tensor):
        dense = input_data.dequantize() if input_data.is_quantized else input_data
        if dense.is_complex():
            dense = torch.view_as_real(dense.resolve_conj())
        return dense.detach().to("cpu", torch.float64)
    if isinstance(input_data, (bool, int, float)):
        return torch.tensor(float(input_data), dtype=torch.float64)
    if isinstance(input_data, Sequence) and not isinstance(input_data, (str, bytes)):
        parts = [convert_to_float_tensor(item).reshape(-1) for item in input_data if item is not None]
        return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64)
    raise ValueError(
        f"expected a tensor, a number or a list of them, found {type(input_data).__name__} {input_data!r:.40}"
    )


def _pair(reference: Any, value: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Expected values, recorded values, and their difference. Raises ValueError where their sizes differ."""
    r, v = convert_to_float_tensor(reference), convert_to_float_tensor(value)
    if r.numel() != v.numel():
        raise ValueError(f"expected values of one size, found {tuple(r.shape)} and {tuple(v.shape)}")
    r, v = r.reshape(-1), v.reshape(-1)
    same = (r == v) | (r.isnan() & v.isnan())
    difference = torch.where(same, 0.0, v - r)
    difference = torch.where(same | difference.isfinite(), difference, math.inf)
    # Equal elements that are not finite cannot be added up, so leave them out.
    return torch.where(same & ~r.isfinite(), 0.0, r), torch.where(same & ~v.isfinite(), 0.0, v), difference


def l1(reference: Any, value: Any) -> float:
    """The sum of the absolute differences."""
    return float(_pair(reference, value)[2].abs().sum())


def mse(reference: Any, value: Any) -> float:
    """The mean of the squared differences; 0 without elements."""
    difference = _pair(reference, value)[2]
    return float(difference.square().mean()) if difference.numel() else 0.0


def snr(reference: Any, value: Any) -> float:
    """The signal-to-noise ratio in dB."""
    r, _, difference = _pair(reference, value)
    noise, signal = float(difference.square().sum()), float(r.square().sum())
    if noise == 0:
        return math.inf
    if signal == 0 or math.isinf(noise) or math.isnan(signal):
        return -math.inf
    return 10 * math.log10(signal / noise)


def cosine_similarity(reference: Any, value: Any) -> float:
    """The cosine of the angle between the two; 1 if both are zero, NaN if only one is zero or if either is not
    finite."""
    r, v, difference = _pair(reference, value)
    length = float(r.norm() * v.norm())
    if length == 0:
        return 1.0 if not difference.any() else math.nan
    return float(r @ v) / length if math.isfinite(length) else math.nan


Values = Sequence[Any]


def calculate_mse(ref_values: Values, values: Values) -> list[float]:
    """The mean squared error of each pair."""
    return [mse(r, v) for r, v in zip(ref_values, values, strict=True)]


def calculate_snr(ref_values: Values, values: Values) -> list[float]:
    """The signal-to-noise ratio of each pair, in dB."""
    return [snr(r, v) for r, v in zip(ref_values, values, strict=True)]


def calculate_cosine_similarity(ref_values: Values, values: Values) -> list[float]:
    """The cosine similarity of each pair."""
    return [cosine_similarity(r, v) for r, v in zip(ref_values, values, strict=True)]
