# SPDX-License-Identifier: BSD-3-Clause
"""Control flow for models. `torch.cond` is the way to write a branch; this module keeps the loop of older code
working."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch


def tracing_context(
    inputs: tuple[torch.Tensor, ...],
) -> Callable[..., Callable[..., torch.Tensor | tuple[torch.Tensor]]]:
    """Decorator for a branch: checks that the branch takes one argument for each example input."""

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(f)
        def wrapper(*args: Any) -> Any:
            if len(args) != len(inputs):
                raise TypeError(
                    f"{f.__name__} was given {len(inputs)} example inputs, but is called with {len(args)} arguments"
                )
            return f(*args)

        wrapper.__tracing_inputs__ = inputs  # type: ignore[attr-defined]
        return wrapper

    return decorate


def while_loop(cond_fn: Callable[..., torch.Tensor], body_fn: Callable[..., tuple[torch.Tensor]], init_val: Any) -> Any:
    """Calls `body_fn` on its own result while `cond_fn` returns a true tensor."""
    flattened = init_val if isinstance(init_val, (tuple, list)) else (init_val,)
    result = torch._higher_order_ops.while_loop(cond_fn, body_fn, tuple(flattened))
    return result if isinstance(init_val, (tuple, list)) else result[0]
