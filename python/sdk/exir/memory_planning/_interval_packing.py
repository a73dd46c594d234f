# SPDX-License-Identifier: BSD-3-Clause
"""Offline dynamic storage allocation: places blocks with known lifetimes in as small an arena as heuristics find.

The problem is NP-hard. Placing blocks one by one, each into a gap that is free for its whole lifetime, comes close to
the optimum if the order is good; which order is good depends on the graph. So several are tried, and the blocks that
end up on top of the best plan are then placed earlier, until the plan reaches the lower bound or stops improving.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

# Rounds of moving the topmost blocks to the front, for graphs of up to a thousand blocks; fewer for larger ones.
_REFINEMENTS = 24

# Random changes that are tried if nothing else is close to the bound, for up to a hundred blocks; fewer for more.
_SEARCHES = 1000

# Search stops at this ratio to the lower bound, where more search could save too little.
_CLOSE = 1.01


@dataclass(frozen=True)
class Block:
    """`size` bytes that are in use from step `first` to step `last`, both included."""

    size: int
    first: int
    last: int


def lower_bound(blocks: Sequence[Block]) -> int:
    """The most bytes that are in use at one step: no plan can be smaller."""
    changes: dict[int, int] = {}
    for block in blocks:
        changes[block.first] = changes.get(block.first, 0) + block.size
        changes[block.last + 1] = changes.get(block.last + 1, 0) - block.size
    used = peak = 0
    for step in sorted(changes):
        used += changes[step]
        peak = max(peak, used)
    return peak


def _conflicts(blocks: Sequence[Block]) -> list[list[int]]:
    """For each block, the blocks whose lifetimes overlap with its own."""
    first = np.array([block.first for block in blocks])
    last = np.array([block.last for block in blocks])
    return [np.flatnonzero((first <= block.last) & (last >= block.first)).tolist() for block in blocks]


def _place_all(
    blocks: Sequence[Block], conflicts: Sequence[Sequence[int]], order: Sequence[int], best_fit: bool
) -> tuple[int, list[int]]:
    """Puts each block into the lowest, or the smallest, gap that is free during its lifetime."""
    offsets = [-1] * len(blocks)
    total = 0
    for index in order:
        size = blocks[index].size
        taken = sorted((offsets[other], blocks[other].size) for other in conflicts[index] if offsets[other] >= 0)
        free = 0  # the end of all blocks in `taken` so far
        chosen = smallest = None
        for offset, other_size in taken:
            gap = offset - free
            if gap >= size and (smallest is None or gap < smallest):
                chosen, smallest = free, gap
                if not best_fit:
                    break
            free = max(free, offset + other_size)
        offsets[index] = free if chosen is None else chosen
        total = max(total, offsets[index] + size)
    return total, offsets


_ORDERS: tuple[Callable[[Block], tuple[int, ...]], ...] = (
    lambda block: (-block.size, block.first),
    lambda block: (-block.size, -(block.last - block.first), block.first),
    lambda block: (-block.size * (block.last - block.first + 1), block.first),
    lambda block: (-(block.last - block.first), -block.size),
    lambda block: (block.first, -block.size),
    lambda block: (block.last, -block.size),
)


def pack(blocks: Sequence[Block]) -> tuple[int, list[int]]:
    """The arena's size and the offset of each block; blocks whose lifetimes intersect do not overlap.

    Offsets are sums and differences of sizes, so they are multiples of any alignment that all sizes are multiples of.
    """
    floor = lower_bound(blocks)
    conflicts = _conflicts(blocks)
    best: tuple[int, list[int]] | None = None
    best_order: list[int] = []
    best_fit_won = False
    for key in _ORDERS:
        order = sorted(range(len(blocks)), key=lambda index: key(blocks[index]))
        for best_fit in (True, False):
            result = _place_all(blocks, conflicts, order, best_fit)
            if best is None or result[0] < best[0]:
                best, best_order, best_fit_won = result, order, best_fit
            if best[0] == floor:
                return best
    assert best is not None
    for _ in range(min(_REFINEMENTS, _REFINEMENTS * 1000 // len(blocks))):
        size, offsets = best
        top = {index for index in best_order if offsets[index] + blocks[index].size == size}
        order = [index for index in best_order if index in top] + [index for index in best_order if index not in top]
        if order == best_order:
            break
        result = _place_all(blocks, conflicts, order, best_fit_won)
        best_order = order
        if result[0] > size:
            break
        best = result
        if best[0] == floor:
            return best
    for result, order in _long_before_short(blocks, conflicts, floor):
        if result[0] < best[0]:
            best, best_order = result, order
        if best[0] <= floor * _CLOSE:
            return best
    return _search(blocks, conflicts, floor, best, best_order)


def _long_before_short(
    blocks: Sequence[Block], conflicts: Sequence[Sequence[int]], floor: int
) -> Iterator[tuple[tuple[int, list[int]], list[int]]]:
    """Plans with their orders. In these, small and short-lived blocks do not fragment the space that others need. This
    helps recurrent networks, which accumulate the results of their steps.
    """
    area = [block.size * (block.last - block.first + 1) for block in blocks]
    for share in (0.9, 0.8, 0.5):
        limit = sorted(area)[int(share * (len(blocks) - 1))]
        large = sorted((i for i, a in enumerate(area) if a >= limit), key=lambda i: (blocks[i].first, -blocks[i].size))
        small = sorted((i for i, a in enumerate(area) if a < limit), key=lambda i: (-blocks[i].size, blocks[i].first))
        yield _place_all(blocks, conflicts, [*large, *small], False), [*large, *small]
    order = sorted(range(len(blocks)), key=lambda i: (blocks[i].first, -blocks[i].size))
    durations = sorted(block.last - block.first for block in blocks)
    sizes = sorted({block.size for block in blocks})
    for share in (0.75, 0.9, 0.5, 0.25):
        longest = durations[int(share * (len(durations) - 1))]
        for size_share in (0.75, 0.5, 1.0):
            largest = sizes[int(size_share * (len(sizes) - 1))]
            high = [b.last - b.first <= longest and b.size <= largest for b in blocks]
            yield _place_from_both_ends(blocks, conflicts, order, floor, high), order


def _place_from_both_ends(
    blocks: Sequence[Block], conflicts: Sequence[Sequence[int]], order: Sequence[int], height: int, high: Sequence[bool]
) -> tuple[int, list[int]]:
    """Puts each block into the lowest free gap, or, if it is `high`, as close to `height` as possible."""
    offsets = [-1] * len(blocks)
    total = 0
    for index in order:
        size = blocks[index].size
        free = 0
        chosen: int | None = None
        for offset, other_size in sorted((offsets[i], blocks[i].size) for i in conflicts[index] if offsets[i] >= 0):
            if offset - free >= size:
                chosen = offset - size if high[index] else free
                if not high[index]:
                    break
            free = max(free, offset + other_size)
        if high[index] and height - free >= size:
            chosen = height - size
        offsets[index] = free if chosen is None else chosen
        total = max(total, offsets[index] + size)
    return total, offsets


def _search(
    blocks: Sequence[Block],
    conflicts: Sequence[Sequence[int]],
    floor: int,
    best: tuple[int, list[int]],
    order: list[int],
) -> tuple[int, list[int]]:
    """Moves blocks to random positions in the order and keeps changes that are not worse. The seed is fixed."""
    random = Random(0)
    for _ in range(min(_SEARCHES, _SEARCHES * 100 // len(blocks))):
        changed = list(order)
        changed.insert(random.randrange(len(order)), changed.pop(random.randrange(len(order))))
        result = _place_all(blocks, conflicts, changed, random.random() < 0.5)
        if result[0] <= best[0]:
            best, order = result, changed
        if best[0] <= floor * _CLOSE:
            break
    return best


def pack_objects(blocks: Sequence[Block]) -> tuple[int, list[int]]:
    """Like `pack`, but blocks share memory only with blocks at the same offset."""
    objects: list[list[Block]] = []
    home: dict[int, int] = {}
    for index in sorted(range(len(blocks)), key=lambda index: (-blocks[index].size, blocks[index].first)):
        block = blocks[index]
        for number, members in enumerate(objects):
            if all(block.last < other.first or other.last < block.first for other in members):
                members.append(block)
                home[index] = number
                break
        else:
            home[index] = len(objects)
            objects.append([block])
    starts = [0]
    for members in objects:
        starts.append(starts[-1] + members[0].size)
    return starts[-1], [starts[home[index]] for index in range(len(blocks))]
