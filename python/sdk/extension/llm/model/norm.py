# SPDX-License-Identifier: BSD-3-Clause
"""Root mean square norms (Zhang and Sennrich, 2019), computed in float32."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    """x / sqrt(mean(x^2) + eps) * weight over the last dimension; * (1 + weight) with `add_unit_offset`."""

    def __init__(self, dim: int, eps: float = 1e-6, add_unit_offset: bool = False) -> None:
        super().__init__()
        self.dim, self.eps, self.add_unit_offset = dim, eps, add_unit_offset
        self.weight = nn.Parameter(torch.zeros(dim) if add_unit_offset else torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight.float() + 1 if self.add_unit_offset else self.weight.float()
        return nn.functional.rms_norm(x.float(), (self.dim,), weight, self.eps).type_as(x)


class ScalelessRMSNorm(nn.Module):
    """x / sqrt(mean(x^2) + eps) over the last dimension."""

    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.rms_norm(x.float(), (self.dim,), None, self.eps).type_as(x)
