# SPDX-License-Identifier: BSD-3-Clause
"""`patch_forward`: run or export another method of a module as if it were `forward`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch


@contextmanager
def patch_forward(obj: torch.nn.Module, new_method: Callable) -> Iterator[None]:
    """While active, calling `obj` calls `new_method`. Restores the original `forward` afterwards, whatever happens."""
    own = obj.__dict__.get("forward")
    obj.forward = new_method.__get__(obj, obj.__class__) if not hasattr(new_method, "__self__") else new_method
    try:
        yield
    finally:
        if own is None:
            del obj.forward
        else:
            obj.forward = own
