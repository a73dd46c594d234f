# SPDX-License-Identifier: BSD-3-Clause
"""The gated short convolution that most layers of LFM2 have instead of attention."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from sdk.extension.llm.model.attention import Attention
from sdk.extension.llm.model.model_args import ModelArgs

_TAPS = 3


class ShortConv(Attention):
    """out(C(x) * conv(B(x) * x'(x))): a causal convolution of each channel over the last three positions."""

    takes = frozenset()

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        self.use_kv_cache = args.use_kv_cache
        self.conv = nn.Conv1d(args.dim, args.dim, _TAPS, groups=args.dim, bias=False)
        self.B_proj, self.C_proj, self.x_proj, self.out_proj = (
            nn.Linear(args.dim, args.dim, bias=False) for _ in range(4)
        )
        if args.use_kv_cache:
            self.register_buffer("conv_state", torch.zeros(args.max_batch_size, args.dim, _TAPS - 1))

    def forward(self, x: Tensor, freqs_cos: Tensor, freqs_sin: Tensor, **options: Any) -> tuple[Tensor, None]:
        """Like `Attention.forward`, without angles: `freqs_cos` and `freqs_sin` have no effect. Values before
        position 0 are 0, even if an earlier sequence left others in the state."""
        gated = (self.B_proj(x) * self.x_proj(x)).transpose(1, 2)
        if self.use_kv_cache:
            state: Tensor = self.conv_state
            padded = torch.cat([state * (options["positions"][0] > 0), gated], dim=-1)
            state.copy_(padded[..., 1 - _TAPS :])
        else:
            padded = nn.functional.pad(gated, (_TAPS - 1, 0))
        return self.out_proj(self.C_proj(x) * self.conv(padded).transpose(1, 2)), None
