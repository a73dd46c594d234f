# SPDX-License-Identifier: BSD-3-Clause
"""Type and layout of a tensor that is stored outside the program, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdk.exir.scalar_type import ScalarType

if TYPE_CHECKING:
    import torch  # reading files does not need it


@dataclass
class TensorLayout:
    """The layout that a reader compares to check that stored bytes are the tensor it expects. Compared by value."""

    scalar_type: ScalarType
    sizes: list[int]
    dim_order: list[int]

    @classmethod
    def from_tensor(cls, tensor: torch.Tensor) -> TensorLayout:
        from sdk.exir.tensor import dim_order_of, scalar_type_enum

        return cls(
            scalar_type=scalar_type_enum(tensor.dtype),
            sizes=list(tensor.shape),
            dim_order=list(dim_order_of(tensor)),
        )
