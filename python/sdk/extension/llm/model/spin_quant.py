# SPDX-License-Identifier: BSD-3-Clause
"""SpinQuant (Liu et al., 2024): the rotation that is computed when the model runs.

The weights of such a checkpoint are rotated already. One rotation cannot be part of the weights: the one between the
activation function of a feed-forward block and its down projection.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sdk.extension.llm.custom_ops import custom_ops  # noqa: F401, registers the operator
from sdk.extension.llm.custom_ops._hadamard import power_of_two_part
from sdk.extension.llm.model.feed_forward import FeedForward


class _FastHadamardTransform(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = torch.ops.llama.fast_hadamard_transform(x)
        return y


def inject_fast_hadamard_transform_native_for_spin_quant(module: nn.Module) -> None:
    """Rotates the inputs of the down projections by the operator `llama::fast_hadamard_transform`.

    Raises ValueError for feed-forward blocks of a width that the transform does not support.
    """
    blocks = [block for block in module.modules() if isinstance(block, FeedForward)]
    for block in blocks:
        if not power_of_two_part(block.hidden_dim):
            raise ValueError(
                f"feed-forward blocks are {block.hidden_dim} wide; expected 2^k or 28 * 2^k for the Hadamard transform"
            )
    for block in blocks:
        block.w2 = nn.Sequential(_FastHadamardTransform(), block.w2)
