# SPDX-License-Identifier: BSD-3-Clause
"""Reading and writing at indices."""

from __future__ import annotations

import torch

from sdk.backends.apple.mps.serialization import shape_nodes as s
from sdk.backends.apple.mps.verify.operations.registry import operation


@operation(s.MPSIndexSelect)
def _index_select(node: s.MPSIndexSelect, x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return torch.index_select(x, node.dim, index)


@operation(s.MPSEmbedding)
def _embedding(node: s.MPSEmbedding, weight: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    return torch.embedding(weight, indices)


@operation(s.MPSIndexTensor)
def _index(node: s.MPSIndexTensor, x: torch.Tensor, indices: list[torch.Tensor | None]) -> torch.Tensor:
    result: torch.Tensor = torch.ops.aten.index.Tensor(x, indices)
    return result


@operation(s.MPSIndexPut)
def _index_put(
    node: s.MPSIndexPut, x: torch.Tensor, indices: list[torch.Tensor | None], values: torch.Tensor
) -> torch.Tensor:
    result: torch.Tensor = torch.ops.aten.index_put.default(x, indices, values)
    return result


@operation(s.MPSScatter)
def _scatter(node: s.MPSScatter, x: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    return torch.scatter(x, node.dim, index.to(torch.int64), source)
