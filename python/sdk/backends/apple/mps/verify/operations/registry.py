# SPDX-License-Identifier: BSD-3-Clause
"""The functions that compute operations, by the types of their nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

from sdk.backends.apple.mps.serialization.mps_data_type import torch_dtype

Operation = Callable[..., "torch.Tensor | Sequence[torch.Tensor]"]
"""Called with the node of the payload (the `MPSNode` for `MPSClamp`) and its operands in the order of their fields; an
absent one is None, and lists of operands are lists. float16 operands are float32."""

OPERATIONS: dict[type, Operation] = {}

OWN_DTYPE: set[type] = set()
"""Operations whose results are not rounded to the dtype of their operands."""

_Function = TypeVar("_Function", bound=Operation)


def operation(*types: type, own_dtype: bool = False) -> Callable[[_Function], _Function]:
    """Makes a function compute the nodes of some types."""

    def register(function: _Function) -> _Function:
        OPERATIONS.update(dict.fromkeys(types, function))
        if own_dtype:
            OWN_DTYPE.update(types)
        return function

    return register


def known_dtype(datatype: Any) -> torch.dtype:
    """Returns PyTorch's dtype of a node. Raises ValueError if PyTorch does not have the type."""
    dtype = torch_dtype(datatype)
    if dtype is None:
        raise ValueError(f"the dtype {datatype.name} is not one that MPS computes")
    return dtype
