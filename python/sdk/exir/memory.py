# SPDX-License-Identifier: BSD-3-Clause
"""Functions that represent memory in a graph. Calling them computes shapes; they are not emitted as kernel calls."""

from __future__ import annotations

from typing import Any

import torch

from sdk.exir.tensor import TensorSpec

TensorAllocSpec = tuple[tuple[int, ...], torch.dtype]
AllocSpec = TensorAllocSpec | list[TensorAllocSpec]


def alloc(spec: AllocSpec) -> Any:
    """The memory of an out argument: `((sizes...), dtype)` for one tensor, a list of those for several.

    The planner gives the node the place of the operator's result, whose spec it shares.
    """
    if isinstance(spec, list):
        return [alloc(item) for item in spec]
    shape, dtype = spec
    return torch.empty(shape, dtype=dtype)


def view(base: torch.Tensor, size: list[int]) -> torch.Tensor:
    """The tensor `base` with other sizes and the same elements in the same memory."""
    return base.view(size)


def free(spec: TensorSpec) -> None:
    """Marks the point where memory of unbounded size may be released."""


for _function in (alloc, view, free):
    # Graphs print functions as `<module>_<name>`; programs and tests of the original use this module's name.
    _function.__module__ = "executorch.exir.memory"
