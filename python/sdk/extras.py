# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch is an extra: programs run with NumPy alone, and only making and examining them needs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

TORCH_HINT = "needs PyTorch: pip install 'pte-sdk[export]'"


def lacks_torch(error: ModuleNotFoundError) -> bool:
    """Whether an import failed because PyTorch is not installed."""
    return (error.name or "").partition(".")[0] == "torch"


@contextmanager
def needing_torch(what: str) -> Iterator[None]:
    """Imports within this say that `what` needs PyTorch, and how to install it, where it is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if not lacks_torch(error) or TORCH_HINT in str(error):
            raise
        raise ModuleNotFoundError(f"{what} {TORCH_HINT}", name=error.name) from None
