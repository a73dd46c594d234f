# SPDX-License-Identifier: BSD-3-Clause
"""Decides which tokens a layer of attention sees, and where the cache stores them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Window:
    """The last tokens, and the first ones where they are attention sinks (Xiao et al., 2023)."""

    size: int = 0
    """The number of the last tokens that a token sees, including itself; 0 means all."""
    sinks: int = 0
    """The number of the first tokens that are also seen."""
    ring: int = 0
    """The number of tokens that the cache keeps in a ring, without the sinks; 0 means a cache of all positions."""

    def length(self, max_context_len: int) -> int:
        """The positions of the cache."""
        return self.sinks + self.ring if self.ring else max_context_len

    def slots(self, positions: Tensor) -> Tensor:
        """The slots of tokens in the cache: int64 [tokens], as `positions`."""
        if not self.ring:
            return positions
        return torch.where(positions < self.sinks, positions, self.sinks + (positions - self.sinks) % self.ring)

    def mask(self, positions: Tensor, seen: Tensor, bidirectional: bool = False) -> Tensor:
        """bool [tokens, slots]: the slots that the tokens at int64 [tokens] `positions` see.

        `seen`: int64 [slots], the positions of the tokens in them; `held` gives the positions in a ring.
        `bidirectional`: the tokens of the call also see each other.
        """
        queries = positions[:, None]
        mask = seen <= (positions[-1:, None].expand_as(queries) if bidirectional else queries)
        if self.size:
            mask = mask & (seen > queries - self.size)
        if self.ring:
            mask = mask & (seen >= self.sinks)  # less: nothing has been written there
        if self.sinks:
            sinks = torch.arange(seen.shape[0]) < self.sinks
            mask = mask | (sinks & (torch.arange(seen.shape[0]) <= queries))
        return mask

    def options(self, positions: Tensor, max_context_len: int | None, bidirectional: bool = False) -> dict[str, Tensor]:
        """For the attention of tokens at int64 [tokens] `positions`: "positions"; "slots", where they are in the cache;
        "mask", bool [tokens, slots], what they see. `max_context_len`: None without a cache."""
        everywhere = positions if max_context_len is None else torch.arange(max_context_len)
        seen = self.held(positions) if self.ring else everywhere
        mask = self.mask(positions, seen, bidirectional)
        return {"positions": positions, "slots": self.slots(positions), "mask": mask}

    def held(self, positions: Tensor) -> Tensor:
        """The positions of the tokens in a ring, int64 [slots], once those at `positions` are written."""
        last, places = positions[-1], torch.arange(self.sinks + self.ring)
        # The latest token of each place: its distance from the sinks is a multiple of the ring's length.
        return last - (last - places) % self.ring

    def sink_shift(self, positions: Tensor) -> Tensor:
        """Returns by how much sinks have moved, int64 [1]. They stay next to the window, so that no distance exceeds
        its size."""
        return (positions[-1:] - (self.sinks + self.size - 1)).clamp(min=0)


def ring_window(size: int, max_seq_len: int, sinks: int = 0) -> Window:
    """A window whose cache is a ring.

    The ring holds the tokens of a call in addition to the tokens that the first of them sees. Raises ValueError for a
    size below 1.
    """
    if size < 1 or sinks < 0:
        raise ValueError(f"a window needs a size above 0 and no negative number of sinks, found {size} and {sinks}")
    return Window(size, sinks, size + max_seq_len - 1)
