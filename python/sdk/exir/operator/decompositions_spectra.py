# SPDX-License-Identifier: BSD-3-Clause
"""Short-time Fourier transforms and their inverses, decomposed into windows and Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten


def _stft(
    x: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """Spectra (..., frequencies, frames) of the windows of `x` (..., samples). PyTorch's C++ definition requires static
    sizes. Its Python definition transposes in place, so the whole program would have to be traced again."""
    if align_to_window:
        options = (normalized, onesided, return_complex, align_to_window)
        return aten.stft.center(x, n_fft, hop_length, win_length, window, False, "reflect", *options)
    width = n_fft if win_length is None else win_length
    if width < n_fft:
        left = (n_fft - width) // 2
        window = torch.ones(width, dtype=x.dtype) if window is None else window
        window = aten.constant_pad_nd(window, [left, n_fft - width - left])
    frames = x.unfold(-1, n_fft, n_fft // 4 if hop_length is None else hop_length)
    frames = frames if window is None else frames * window
    is_complex = frames.is_complex()
    transform = torch.fft.rfft if (not is_complex if onesided is None else onesided) else torch.fft.fft
    spectra = transform(frames, dim=-1, norm="ortho" if normalized else None).transpose(-2, -1)
    gives_complex = is_complex if return_complex is None else return_complex
    return spectra if gives_complex else torch.view_as_real(spectra)


def _unfold_backward(grad: Tensor, input_size: Sequence[int], dim: int, size: int, step: int) -> Tensor:
    """Sums overlapping windows once where `grad` repeats them along a dimension, as the window of istft does along the
    batch. PyTorch's decomposition would emit three operators for each position of a window."""
    rank = len(input_size)
    repeated = [d for d in range(rank) if grad.dim() == rank + 1 and d != dim % rank and _is_one(grad.shape[d])]
    sizes = [1 if d in repeated else extent for d, extent in enumerate(input_size)]
    result: Tensor = torch._decomp.decomposition_table[aten.unfold_backward.default](grad, sizes, dim, size, step)
    return result.expand(list(input_size)) if repeated else result


def _is_one(extent: Any) -> bool:
    return isinstance(extent, int) and extent == 1


SPECTRA: dict[torch._ops.OperatorBase, Callable] = {
    aten.stft.default: _stft,
    aten.unfold_backward.default: _unfold_backward,
}
"""Maps each operator to the function that computes it."""
