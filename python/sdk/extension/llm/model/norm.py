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


class RMSNormWithInputScale(nn.Module):
    """The norm of weight * x, in the dtype of that product."""

    def __init__(self, dim: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.rms_norm(self.weight * x, (self.dim,), None, self.eps)


class RMSNormGated(nn.Module):
    """RMSNorm(x) * silu(gate), the product in float32."""

    def __init__(self, hidden_size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states: Tensor, gate: Tensor) -> Tensor:
        normal = nn.functional.rms_norm(hidden_states.float(), self.weight.shape, None, self.variance_epsilon)
        scaled = self.weight * normal.type_as(hidden_states)
        return (scaled * nn.functional.silu(gate.float())).type_as(hidden_states)


def replace_rms_norm_with_native_rms_norm(module: nn.Module) -> nn.Module:
    """Replaces each `RMSNorm` by PyTorch's, with the same weight. Returns the module."""
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, RMSNorm):
                made = nn.RMSNorm(child.dim, child.eps)
                made.weight = nn.Parameter(child.weight.detach() + 1) if child.add_unit_offset else child.weight
                setattr(parent, name, made)
    return module
