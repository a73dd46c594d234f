# SPDX-License-Identifier: BSD-3-Clause
"""Mixtures of experts (Shazeer et al., 2017): feed-forward blocks from which a router chooses a few for each token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdk.extension.llm.model.feed_forward import FeedForward
from sdk.extension.llm.model.model_args import ModelArgs, MoEScoreFunc


class Router(nn.Module):
    """The weight of each expert for a token: probabilities of the likeliest experts, 0 for the others.

    The router's weights are not in a linear layer, so that they are not quantised: a different choice of experts would
    be a different model.
    """

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        if args.moe_score_func not in (known := get_args(MoEScoreFunc)):
            raise ValueError(f"moe_score_func={args.moe_score_func!r} must be one of {', '.join(known)}")
        self.activated, self.scale = args.num_activated_experts, args.moe_route_scale
        self.is_sigmoid = args.moe_score_func == "sigmoid"
        self.normalised = args.moe_norm_topk
        if self.normalised is None:
            self.normalised = args.moe_score_func != "softmax_all"
        self.weight = nn.Parameter(torch.empty(args.num_experts, args.dim))
        nn.init.normal_(self.weight, std=args.dim**-0.5)
        bias = torch.zeros(args.num_experts) if args.moe_use_expert_bias else None
        self.bias: Tensor | None
        self.register_buffer("bias", bias)

    def forward(self, x: Tensor) -> Tensor:
        """Takes [batch, tokens, dim] and returns [batch, tokens, experts] of the same dtype."""
        scores = F.linear(x, self.weight).float()
        scores = scores.sigmoid() if self.is_sigmoid else scores.softmax(dim=-1)
        # The bias balances how often experts are chosen; it does not change their shares.
        chosen = torch.topk(scores if self.bias is None else scores + self.bias, self.activated, dim=-1)[1]
        shares = scores.gather(-1, chosen)
        if self.normalised:
            shares = shares / shares.sum(dim=-1, keepdim=True).clamp_min(torch.finfo(shares.dtype).tiny)
        return torch.zeros_like(scores).scatter(-1, chosen, shares * self.scale).type_as(x)


class MixtureOfExperts(nn.Module):
    """Sums the results of the chosen experts, weighted by the router, and of a shared expert, if there is one.

    A program skips the experts that no token of a call has chosen, and computes the others for all of its tokens.
    """

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        if not 1 <= args.num_activated_experts <= args.num_experts:
            raise ValueError(
                f"num_activated_experts={args.num_activated_experts} must be from 1 to num_experts={args.num_experts}"
            )
        self.router = Router(args)
        self.experts = nn.ModuleList(FeedForward(args, args.moe_hidden_dim) for _ in range(args.num_experts))
        shared = args.moe_shared_expert_hidden_dim
        self.shared_expert = None if shared is None else FeedForward(args, shared)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, tokens, dim], as its input."""
        shares = self.router(x)
        y = torch.zeros_like(x) if self.shared_expert is None else self.shared_expert(x)
        for share, expert in zip(shares.split(1, dim=-1), self.experts, strict=True):
            if torch.compiler.is_exporting():
                y = y + torch.cond(share.any(), _branch(expert), _nothing, (x, share))
            elif bool(share.any()):
                y = y + expert(x) * share
        return y


def take_names_of_executorch(block: nn.Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """Called before a state is loaded into a block of a transformer. Renames the weights of `block_sparse_moe`, for
    which ExecuTorch has one tensor for all experts."""
    theirs, ours = f"{prefix}block_sparse_moe.", f"{prefix}feed_forward."
    for name in [name for name in state if name.startswith(theirs)]:
        weight, own = state.pop(name), name.removeprefix(theirs)
        part = own.removeprefix("cond_ffn.")
        if part != own:
            for i, each in enumerate(weight):
                state[f"{ours}experts.{i}.{part}.weight"] = each.T if part == "w2" else each
        else:
            own = {"gate.weight": "router.weight", "expert_bias": "router.bias"}.get(own, own)
            state[ours + own] = weight


def _branch(expert: nn.Module) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda x, share: expert(x) * share


def _nothing(x: Tensor, share: Tensor) -> Tensor:
    return torch.zeros_like(x)
