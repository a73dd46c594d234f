# SPDX-License-Identifier: BSD-3-Clause
"""Captures without the fused operators of torch.nn's modules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch.backends import mha


@contextmanager
def without_fast_paths() -> Iterator[None]:
    """In this context, torch.nn's attention and transformer layers compute with operators that quantizers recognise.

    Outside of it, a strict capture under `torch.no_grad()` has one operator for a whole layer, or nested tensors.
    """
    enabled = mha.get_fastpath_enabled()
    mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        mha.set_fastpath_enabled(enabled)
