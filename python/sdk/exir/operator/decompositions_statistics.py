# SPDX-License-Identifier: BSD-3-Clause
"""Histograms, order statistics, and sums of exponentials."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from sdk.exir.sym_util import may_be_zero

aten = torch.ops.aten


def _kthvalue(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    values, indices = torch.sort(x, dim)
    values, indices = values.narrow(dim, k - 1, 1), indices.narrow(dim, k - 1, 1)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


def _median(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The lower of the two middle values; if there is a NaN, NaN and the index of the first one."""
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    values, indices = _kthvalue(x, (x.shape[dim] + 1) // 2, dim, True)
    if x.is_floating_point():
        nan = torch.isnan(x)
        first = torch.argmax(nan.to(torch.int32), dim, True)
        found = torch.any(nan, dim, True)
        values = torch.where(found, float("nan"), values)
        indices = torch.where(found, first, indices)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


def _median_of_all(x: Tensor) -> Tensor:
    x = x.reshape(-1)
    if not x.is_floating_point():
        return _median(x, 0)[0]
    # The NaN that is put in front is the median of an empty tensor.
    ordered = aten.constant_pad_nd(torch.sort(x)[0], [1, 0], math.nan)
    middle = ordered.narrow(0, (x.shape[0] + 1) // 2, 1).squeeze(0)
    return torch.where(torch.any(torch.isnan(x)), math.nan, middle)


def _logsumexp(x: Tensor, dim: Sequence[int], keepdim: bool = False) -> Tensor:
    """-inf for an empty dimension: amax needs an element, so dimensions that may be empty are padded with -inf."""
    if x.is_complex():
        result: Tensor = torch._decomp.decomposition_table[aten.logsumexp.default](x, dim, keepdim)
        return result
    dtype = x.dtype if x.is_floating_point() else torch.get_default_dtype()
    x = x.to(torch.promote_types(dtype, torch.float32))
    for d in {d % x.dim() for d in dim} if x.dim() else ():
        if may_be_zero(x.shape[d]):
            x = aten.constant_pad_nd(x, [0, 0] * (x.dim() - 1 - d) + [0, 1], -math.inf)
    most = torch.amax(x, dim, keepdim=True)
    most = torch.masked_fill(most, torch.abs(most) == math.inf, 0)
    total = torch.sum(torch.exp(x - most), dim, keepdim)
    return (torch.log(total) + (most if keepdim else torch.squeeze(most, dim))).to(dtype)


def _mode(x: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The last element of the first longest run of the sorted values."""
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    dim = dim % x.dim()
    values, indices = torch.sort(x, dim=dim, stable=True)
    count = values.shape[dim]
    shape = [1] * x.dim()
    shape[dim] = count
    position = torch.arange(count).reshape(shape).expand(values.shape)
    differs = values.narrow(dim, 1, count - 1) != values.narrow(dim, 0, count - 1)
    starts = torch.where(differs, position.narrow(dim, 1, count - 1), 0)
    starts = torch.cat([torch.zeros_like(position.narrow(dim, 0, 1)), starts], dim)
    best = torch.argmax(position - aten.cummax(starts, dim)[0], dim, True)
    values, indices = torch.gather(values, dim, best), torch.gather(indices, dim, best)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


def _count(place: Tensor, bins: int, weight: Tensor | None, dtype: torch.dtype) -> Tensor:
    """The count (or the sum of weights) of each of `bins` bins. Values outside the range have the bin number `bins`."""
    ones = torch.ones_like(place, dtype=dtype) if weight is None else weight.reshape(-1).to(dtype)
    return aten.scatter_add(torch.zeros([bins + 1], dtype=dtype), 0, place, ones)[:bins]


def _range_of(x: Tensor, given: tuple[float, float] | None, widen: float) -> tuple[Tensor, Tensor]:
    """The range of a histogram: `given`, or the range of the values, from 0 to 1 without values. It is widened if both
    ends are equal.
    """
    if given is None and x.numel() > 0:
        least, most = torch.amin(x), torch.amax(x)
        same = least == most
        return torch.where(same, least - widen, least), torch.where(same, most + widen, most)
    low, high = given or (0.0, 1.0)
    low, high = (low, high) if low != high else (low - widen, high + widen)
    return torch.full([], low, dtype=x.dtype), torch.full([], high, dtype=x.dtype)


def _histc(x: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    x = x.reshape(-1)
    low, high = _range_of(x, (min, max) if min != max else None, 1.0)
    place = ((x - low) * bins / (high - low)).to(torch.int64)
    place = torch.clamp(place, 0, bins - 1)
    inside = torch.logical_and(x >= low, x <= high)
    return _count(torch.where(inside, place, bins), bins, None, torch.float32).to(x.dtype)


def _places(x: Tensor, edges: Tensor) -> Tensor:
    """The bin of each value; -1 outside the edges, which are ascending. The last bin includes both of its edges."""
    bins = edges.shape[0] - 1
    place = torch.searchsorted(edges.contiguous(), x.contiguous(), right=True) - 1
    place = torch.where(x == edges[-1], bins - 1, place)
    return torch.where(torch.logical_and(x >= edges[0], x <= edges[-1]), place, -1)


def _densities(hist: Tensor, edges: Sequence[Tensor]) -> Tensor:
    hist = hist / hist.sum()
    for d, edge in enumerate(edges):
        shape = [1] * len(edges)
        shape[d] = -1
        hist = hist / (edge[1:] - edge[:-1]).reshape(shape)
    return hist


def _histogram_of(x: Tensor, edges: list[Tensor], weight: Tensor | None, density: bool) -> Tensor:
    """x: [points, dimensions]"""
    sizes = [edge.shape[0] - 1 for edge in edges]
    total = 1
    for size in sizes:
        total *= size
    place = torch.zeros([x.shape[0]], dtype=torch.int64)
    inside = torch.ones([x.shape[0]], dtype=torch.bool)
    for d, edge in enumerate(edges):
        along = _places(x[:, d], edge)
        inside = torch.logical_and(inside, along >= 0)
        place = place * sizes[d] + torch.clamp(along, min=0)
    hist = _count(torch.where(inside, place, total), total, weight, x.dtype).reshape(sizes)
    return _densities(hist, edges) if density else hist


def _edges_of(x: Tensor, bins: int, low: Any, high: Any) -> Tensor:
    """bins + 1 equally spaced edges, computed from both ends as linspace does."""
    step = (high - low) / bins
    index = torch.arange(bins + 1)
    forward, backward = low + step * index, high - step * (bins - index)
    return torch.where(index < (bins + 1) // 2, forward, backward).to(x.dtype)


def _histogram_bin_count(
    x: Tensor,
    bins: int = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, Tensor]:
    flat = x.reshape(-1)
    edges = _edges_of(x, bins, *_range_of(flat, (range[0], range[1]) if range is not None else None, 0.5))
    return _histogram_of(flat.reshape(-1, 1), [edges], weight, density), edges


def _histogram_bins(
    x: Tensor, bins: Tensor, *, weight: Tensor | None = None, density: bool = False
) -> tuple[Tensor, Tensor]:
    return _histogram_of(x.reshape(-1, 1), [bins], weight, density), bins.clone()


def _histogramdd_edges(
    x: Tensor,
    bins: Sequence[int],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> list[Tensor]:
    points = x.reshape(-1, x.shape[-1])
    edges = []
    for d, count in enumerate(bins):
        given = (range[2 * d], range[2 * d + 1]) if range is not None else None
        low, high = _range_of(points[:, d], given, 0.5)
        edges.append(_edges_of(x, count, low, high))
    return edges


def _histogramdd_counts(
    x: Tensor,
    bins: Sequence[int],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Tensor:
    edges = _histogramdd_edges(x, bins, range=range)
    return _histogram_of(x.reshape(-1, x.shape[-1]), edges, weight, density)


def _histogramdd_tensors(
    x: Tensor, bins: Sequence[Tensor], *, weight: Tensor | None = None, density: bool = False
) -> Tensor:
    return _histogram_of(x.reshape(-1, x.shape[-1]), list(bins), weight, density)


STATISTICS: dict[torch._ops.OperatorBase, Callable] = {
    aten._histogramdd_bin_edges.default: _histogramdd_edges,
    aten._histogramdd_from_bin_cts.default: _histogramdd_counts,
    aten._histogramdd_from_bin_tensors.default: _histogramdd_tensors,
    aten.histc.default: _histc,
    aten.histogram.bin_ct: _histogram_bin_count,
    aten.histogram.bins_tensor: _histogram_bins,
    aten.kthvalue.default: _kthvalue,
    aten.logsumexp.default: _logsumexp,
    aten.median.default: _median_of_all,
    aten.median.dim: _median,
    aten.mode.default: _mode,
}
"""Maps each operator to the function that computes it."""
