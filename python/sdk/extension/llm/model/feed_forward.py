# SPDX-License-Identifier: BSD-3-Clause
"""Gated feed-forward blocks (Shazeer, 2020), with LoRA adapters (Hu et al., 2021) where a model has them."""

from __future__ import annotations

from torch import Tensor, nn

from sdk.extension.llm.model.lora import projection
from sdk.extension.llm.model.model_args import ModelArgs


class FeedForward(nn.Module):
    """w2(act(w1(x)) * w3(x)): w1 is the gate, w3 the up projection, w2 the down projection."""

    def __init__(self, args: ModelArgs, hidden_dim: int | None = None) -> None:
        """`hidden_dim`: its width, `args.hidden_dim` when None."""
        super().__init__()
        hidden_dim = hidden_dim or args.hidden_dim
        assert hidden_dim is not None
        self.w1 = projection(args, args.dim, hidden_dim, "gate_proj", bias=args.mlp_bias)
        self.w2 = projection(args, hidden_dim, args.dim, "down_proj", bias=args.mlp_bias)
        self.w3 = projection(args, args.dim, hidden_dim, "up_proj", bias=args.mlp_bias)
        self.w13: nn.Module | None = None
        """One layer with the rows of w1 and w3. It replaces these layers."""
        self.hidden_dim = hidden_dim
        self.act_fn = args.act_fn.get_function()

    def forward(self, x: Tensor) -> Tensor:
        if self.w13 is None:
            gate, up = self.w1(x), self.w3(x)
        else:
            gate, up = self.w13(x).split(self.hidden_dim, dim=-1)
        y: Tensor = self.w2(self.act_fn(gate) * up)
        return y
