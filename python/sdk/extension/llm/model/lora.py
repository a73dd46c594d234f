# SPDX-License-Identifier: BSD-3-Clause
"""Linear layers with low-rank adapters (Hu et al., 2021)."""

from __future__ import annotations

from torch import Tensor, nn

from sdk.extension.llm.model.model_args import ModelArgs


class LoRALinear(nn.Module):
    """linear(x) + alpha / rank * lora_b(lora_a(x))."""

    def __init__(self, in_dim: int, out_dim: int, rank: int, alpha: float, use_bias: bool = False) -> None:
        super().__init__()
        self.linear = nn.Linear(in_dim, out_dim, bias=use_bias)
        self.lora_a, self.lora_b = nn.Linear(in_dim, rank, bias=False), nn.Linear(rank, out_dim, bias=False)
        self.scale = alpha / rank

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear(x) + self.scale * self.lora_b(self.lora_a(x))
        return y


def projection(args: ModelArgs, in_dim: int, out_dim: int, *names: str, bias: bool = False) -> nn.Module:
    """A linear layer, with an adapter where `args.target_modules` has one of its names."""
    if not set(names) & set(args.target_modules or ()):
        return nn.Linear(in_dim, out_dim, bias=bias)
    if not args.r or args.lora_alpha is None:
        raise ValueError(f"LoRA adapters need a rank and an alpha; found r={args.r}, lora_alpha={args.lora_alpha}")
    return LoRALinear(in_dim, out_dim, args.r, args.lora_alpha, bias)
