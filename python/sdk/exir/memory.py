# SPDX-License-Identifier: BSD-3-Clause
"""Functions that stand for memory in a graph. Calling them computes shapes; the emitter never calls a kernel for them."""

from __future__ import annotations

from typing import Any, List, Tuple, Union

import torch

from sdk.exir.tensor import TensorSpec

TensorAllocSpec = Tuple[Tuple[int], torch.dtype]
AllocSpec = Union[TensorAllocSpec, List[TensorAllocSpec]]


def alloc(spec: AllocSpec) -> Any:
    """The memory of an out argument: `((sizes...), dtype)` for one tensor, a list of those for several.

    The planner gives the node the place of the operator's result, whose spec it shares.
    """
    if isinstance(spec, list):
        return [alloc(item) for item in spec]
    shape, dtype = spec
    return torch.empty(shape, dtype=dtype)


def view(base: torch.Tensor, size: List[int]) -> torch.Tensor:
    """The tensor `base` with other sizes and the same elements in the same memory."""
    return base.view(size)


def free(spec: TensorSpec) -> None:
    """Marks where memory that the planner did not bound may be released."""
