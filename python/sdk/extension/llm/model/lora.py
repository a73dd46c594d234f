# SPDX-License-Identifier: BSD-3-Clause
"""Linear layers with low-rank adapters (Hu et al., 2021)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from sdk.extension.llm.model.model_args import ModelArgs


class LoRALinear(nn.Module):
    """linear(x) + alpha / rank * lora_b(lora_a(x))."""

    def __init__(
        self, in_dim: int, out_dim: int, rank: int, alpha: float, dropout: float = 0.0, use_bias: bool = False
    ) -> None:
        super().__init__()
        self.in_dim, self.out_dim, self.rank, self.alpha, self.use_bias = in_dim, out_dim, rank, alpha, use_bias
        self.linear = nn.Linear(in_dim, out_dim, bias=use_bias)
        self.lora_a, self.lora_b = nn.Linear(in_dim, rank, bias=False), nn.Linear(rank, out_dim, bias=False)
        self.dropout = nn.Dropout(dropout) if dropout else nn.Identity()
        self.scale = alpha / rank

    @property
    def weight(self) -> Tensor:
        """The weight of the layer without the adapter."""
        return self.linear.weight

    @property
    def bias(self) -> Tensor | None:
        """The bias of the layer without the adapter."""
        return self.linear.bias

    def forward(self, x: Tensor, lora_a: Tensor | None = None, lora_b: Tensor | None = None) -> Tensor:
        """`lora_a`, `lora_b`: matrices in place of the adapter's; give both or neither."""
        z = self.dropout(x)
        if lora_a is None or lora_b is None:
            z = self.lora_b(self.lora_a(z))
        else:
            z = F.linear(F.linear(z, lora_a), lora_b)
        y: Tensor = self.linear(x) + self.scale * z
        return y


def lora_call(linear: nn.Module, x_in: Tensor, lora_blob: dict[str, tuple[Tensor, Tensor]] | None) -> Tensor:
    """Calls a layer, with the matrices that `lora_blob` has under the layer's `_lora_key`, if there are any."""
    adapter = (lora_blob or {}).get(getattr(linear, "_lora_key", ""))
    y: Tensor = linear(x_in) if adapter is None else linear(x_in, *adapter)
    return y


def projection(args: ModelArgs, in_dim: int, out_dim: int, *names: str, bias: bool = False) -> nn.Module:
    """Returns a linear layer, with an adapter if `args.target_modules` contains one of its names."""
    if not set(names) & set(args.target_modules or ()):
        return nn.Linear(in_dim, out_dim, bias=bias)
    if not args.r or args.lora_alpha is None:
        raise ValueError(f"LoRA adapters need a rank and an alpha; found r={args.r}, lora_alpha={args.lora_alpha}")
    return LoRALinear(in_dim, out_dim, args.r, args.lora_alpha, use_bias=bias)
