# SPDX-License-Identifier: BSD-3-Clause
"""Observers of weights with a scale for each channel, which do not change while a model is calibrated."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torchao.quantization.pt2e import PerChannelMinMaxObserver, UniformQuantizationObserverBase

from sdk.backends.qualcomm.utils.constants import DEFAULT_EPS_FP32


class PerChannelParamObserver(PerChannelMinMaxObserver):
    """Reads a weight once."""

    def __init__(self, ch_axis: int = 0, dtype: torch.dtype = torch.quint8, **kwargs: Any) -> None:
        kwargs.setdefault("eps", DEFAULT_EPS_FP32)
        super().__init__(ch_axis=ch_axis, dtype=dtype, **kwargs)
        self.calibrated = False

    def forward(self, x_orig: Tensor) -> Tensor:
        if not self.calibrated:
            self.calibrated = True
            super().forward(x_orig)
        return x_orig


class PerChannelParamObserverWithLossEvaluation(UniformQuantizationObserverBase):
    """Chooses the range with the least error for each channel, among `steps` fractions of the largest magnitude.

    Args:
        ch_axis: The dimension of the channels.
        use_mse: The error is the mean square; otherwise the cosine distance of all channels.
        steps: How many ranges are tried.
        dtype: The dtype of the integers.
        qscheme: `torch.per_channel_symmetric`.
        kwargs: The arguments of torchao's observers.
    """

    min_val: Tensor
    max_val: Tensor

    def __init__(
        self,
        ch_axis: int = 0,
        use_mse: bool = True,
        steps: int = 100,
        dtype: torch.dtype = torch.int8,
        qscheme: torch.qscheme = torch.per_channel_symmetric,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("eps", DEFAULT_EPS_FP32)
        super().__init__(dtype=dtype, qscheme=qscheme, **kwargs)
        self.register_buffer("min_val", torch.tensor(float("inf")))
        self.register_buffer("max_val", torch.tensor(float("-inf")))
        self.ch_axis, self.use_mse, self.steps = ch_axis, use_mse, steps
        self.calibrated = False

    def forward(self, x_orig: Tensor) -> Tensor:
        if not self.calibrated:
            self.min_val, self.max_val = self._least_error(x_orig.detach().to(self.min_val.dtype))
            self.calibrated = True
        return self._quantized(x_orig, self.min_val, self.max_val)

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """The scales and zero points."""
        found: tuple[Tensor, Tensor] = self._calculate_qparams(self.min_val, self.max_val)
        return found

    def _rows(self, x: Tensor) -> Tensor:
        return x.transpose(0, self.ch_axis).flatten(1)

    def _quantized(self, x: Tensor, low: Tensor, high: Tensor) -> Tensor:
        scale, zero_point = self._calculate_qparams(low, high)
        limits = self.quant_min, self.quant_max
        return torch.fake_quantize_per_channel_affine(x, scale.data, zero_point.data.int(), self.ch_axis, *limits)

    def _error(self, x: Tensor, found: Tensor) -> Tensor:
        rows, quantized = self._rows(x), self._rows(found)
        if self.use_mse:
            return (rows - quantized).square().mean(1)
        return torch.nn.functional.cosine_embedding_loss(quantized, rows, torch.ones(rows.shape[0])).expand(len(rows))

    def _least_error(self, x: Tensor) -> tuple[Tensor, Tensor]:
        largest = self._rows(x).abs().amax(1)
        best, limit = torch.full_like(largest, torch.inf), largest.clone()
        for step in range(1, self.steps + 1):
            tried = largest / self.steps * step
            error = self._error(x, self._quantized(x, -tried, tried))
            limit = torch.where(error < best, tried, limit)
            best = torch.minimum(best, error)
        return -limit, limit
