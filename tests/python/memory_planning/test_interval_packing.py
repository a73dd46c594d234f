# SPDX-License-Identifier: BSD-3-Clause
"""Placing blocks with lifetimes in an arena."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdk.exir.memory_planning._interval_packing import Block, lower_bound, pack, pack_objects

blocks = st.lists(
    st.builds(
        lambda size, first, length: Block(16 * size, first, first + length),
        st.integers(0, 40),
        st.integers(0, 20),
        st.integers(0, 10),
    ),
    max_size=40,
)


@pytest.mark.parametrize("place", [pack, pack_objects])
@given(blocks=blocks)
@settings(deadline=None)
def test_blocks_that_live_together_never_overlap(place, blocks: list[Block]) -> None:
    """MEM-06"""
    size, offsets = place(blocks)
    for i, (a, start) in enumerate(zip(blocks, offsets, strict=True)):
        assert start >= 0
        assert start % 16 == 0
        assert start + a.size <= size
        for b, other in zip(blocks[:i], offsets[:i], strict=True):
            if a.first <= b.last and b.first <= a.last:
                assert start + a.size <= other or other + b.size <= start
    assert lower_bound(blocks) <= size <= sum(block.size for block in blocks)


@given(blocks=blocks)
def test_lower_bound_is_the_most_that_is_live_at_once(blocks: list[Block]) -> None:
    steps = range(40)
    live = [sum(block.size for block in blocks if block.first <= step <= block.last) for step in steps]
    assert lower_bound(blocks) == max(live)


def test_a_chain_needs_two_buffers() -> None:
    """Each tensor is needed only for the next one, so two buffers suffice for any length."""
    chain = [Block(64, i, i + 1) for i in range(50)]
    assert pack(chain)[0] == 128


def test_small_blocks_fill_the_gap_of_a_large_one() -> None:
    size, _ = pack([Block(64, 0, 1), Block(32, 2, 3), Block(32, 2, 3), Block(16, 0, 3)])
    assert size == 80


def test_large_graphs_are_planned_quickly_and_close_to_the_bound() -> None:
    rng = random.Random(0)
    graph = [Block(16 * rng.choice([1, 4, 64, 100, 128]), i, i + rng.choice([1, 1, 2, 8, 40])) for i in range(1500)]
    start = time.process_time()
    size, _ = pack(graph)
    assert size <= 1.1 * lower_bound(graph)
    assert time.process_time() - start < 5
