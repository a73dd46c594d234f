# SPDX-License-Identifier: BSD-3-Clause
"""The positions by which M-RoPE (Qwen2-VL, Wang et al., 2024) rotates: three numbers for each token of a conversation
with pictures."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class GridPositions(nn.Module):
    """Counts the positions of a conversation, for tokens that are written from some slot of the cache on.

    A token of text advances all three numbers by one. In a picture, two of the numbers are the row and the column; the
    tokens after the picture continue after its longer side. The state is stored by slot of the cache, so that a
    conversation can go back to any slot between pictures.
    """

    def __init__(self, max_context_len: int) -> None:
        super().__init__()
        self.register_buffer("following", torch.zeros(max_context_len + 1, dtype=torch.int64))

    def of_text(self, input_pos: Tensor, count: int) -> Tensor:
        """The int64 [3, count] positions of text that begins at the slot `input_pos`, int64 [1]."""
        positions = self.following[input_pos] + torch.arange(count)
        self.following[input_pos + 1 + torch.arange(count)] = positions + 1
        return positions.expand(3, -1)

    def of_picture(self, input_pos: Tensor, count: int, picture: Tensor) -> Tensor:
        """int64 [3, count] for a part of a picture. `picture`: its first slot, its rows and its columns."""
        first, rows, columns = picture.split(1)
        start, inside = self.following[first], input_pos - first + torch.arange(count)
        self.following[input_pos + 1 + torch.arange(count)] = (start + torch.maximum(rows, columns)).expand(count)
        return torch.stack([start.expand(count), start + inside // columns, start + inside % columns])
