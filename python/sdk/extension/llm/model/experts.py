# SPDX-License-Identifier: BSD-3-Clause
"""Mixtures of experts (Shazeer et al., 2017): feed-forward blocks of which a router chooses a few for each token."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdk.extension.llm.model.feed_forward import FeedForward
from sdk.extension.llm.model.model_args import ModelArgs


class Router(nn.Module):
    """The weight of each expert for a token: probabilities of the likeliest experts, 0 for the others.

    The router's weights are not in a linear layer, so that they are not quantised: a different choice of experts would
    be a different model.
    """

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        self.activated, self.normalised = args.num_activated_experts, args.moe_norm_topk
        self.weight = nn.Parameter(torch.empty(args.num_experts, args.dim))
        nn.init.normal_(self.weight, std=args.dim**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        """From [batch, tokens, dim] to [batch, tokens, experts] of the same dtype."""
        scores = torch.softmax(F.linear(x, self.weight).float(), dim=-1)
        shares, chosen = torch.topk(scores, self.activated, dim=-1)
        if self.normalised:
            shares = shares / shares.sum(dim=-1, keepdim=True)
        return torch.zeros_like(scores).scatter(-1, chosen, shares).type_as(x)


class MixtureOfExperts(nn.Module):
    """The sum of the experts' results, weighted by the router.

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

    def forward(self, x: Tensor) -> Tensor:
        """[batch, tokens, dim], as its input."""
        shares = self.router(x)
        y = torch.zeros_like(x)
        for share, expert in zip(shares.split(1, dim=-1), self.experts, strict=True):
            if torch.compiler.is_exporting():
                y = y + torch.cond(share.any(), _branch(expert), _nothing, (x, share))
            elif bool(share.any()):
                y = y + expert(x) * share
        return y


def _branch(expert: nn.Module) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda x, share: expert(x) * share


def _nothing(x: Tensor, share: Tensor) -> Tensor:
    return torch.zeros_like(x)
