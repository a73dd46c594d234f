# SPDX-License-Identifier: BSD-3-Clause
"""Damaged files."""

from __future__ import annotations

from hypothesis import strategies as st


def damaged(data: bytes) -> st.SearchStrategy[bytes]:
    """Generates truncated or changed copies of the bytes, or copies with both."""

    def change(pair: tuple[int, list[tuple[int, int]]]) -> bytes:
        length, changes = pair
        content = bytearray(data[:length])
        for place, value in changes:
            if place < length:
                content[place] = value
        return bytes(content)

    places = st.integers(0, len(data) - 1)
    changes = st.lists(st.tuples(places, st.integers(0, 255)), max_size=8)
    return st.tuples(st.just(len(data)) | st.integers(1, len(data)), changes).map(change)
