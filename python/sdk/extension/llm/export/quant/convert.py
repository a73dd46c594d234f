# SPDX-License-Identifier: BSD-3-Clause
"""Converts quantised weights to other forms with the same values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torchao.quantization import IntxUnpackedToInt8Tensor
from torchao.quantization.quantize_.workflows.int4.int4_tensor import Int4Tensor
from torchao.utils import TorchAOBaseTensor

from sdk.extension.llm.export.gguf import ExportableGGUFTensor
from sdk.extension.llm.export.int4 import ExportableInt4Tensor

Convert = Callable[[str, Tensor], Tensor]
"""A function that takes the name and the value of a weight, and returns the value that the model gets."""

_ROWS = {
    ExportableInt4Tensor: (0, 1, 1),
    IntxUnpackedToInt8Tensor: (0, 0, 0),
    ExportableGGUFTensor: (0,),
}
"""For each part of a quantised weight, the dimension of the matrix's rows. The method `to` of these classes changes the
dtype of scales and results only."""


def identity(fqn: str, w: Tensor) -> Tensor:
    """The weight itself."""
    return w


def to_exportable(fqn: str, w: Tensor) -> Tensor:
    """Converts torchao's `Int4Tensor`, whose layers call CUDA kernels, to `ExportableInt4Tensor`. Other weights do not
    change."""
    return ExportableInt4Tensor.from_int4_tensor(w) if isinstance(w, Int4Tensor) else w


def to_default(fqn: str, w: Tensor) -> Tensor:
    """Like `to_exportable`. Also packs 4-bit weights that are stored in a byte each into half a byte.

    Raises ValueError for those whose activations are quantised.
    """
    if isinstance(w, IntxUnpackedToInt8Tensor) and w.target_dtype == torch.int4:
        return ExportableInt4Tensor.from_intx_unpacked_to_int8_tensor(w)
    return to_exportable(fqn, w)


def maybe_cast(value: Tensor, dtype: torch.dtype | None) -> Tensor:
    """Converts a floating-point weight to another dtype. A quantised weight keeps its integers. Weights that would have
    to be dequantised do not change, nor does any weight if `dtype` is None."""
    if dtype is None or value.dtype == dtype or not value.dtype.is_floating_point:
        return value
    return value.to(dtype) if type(value) in (Tensor, nn.Parameter, *_ROWS) else value


def fuse_along_output(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenates the rows of all matrices, for example of queries, keys and values, without quantising again.

    Raises ValueError for no matrices and for quantised ones with different settings, TypeError for different kinds.
    """
    tensors = list(tensors)
    if not tensors:
        raise ValueError("expected at least one matrix, found none")
    first = tensors[0]
    if len(tensors) == 1:
        return first
    quantized = [isinstance(t, TorchAOBaseTensor) for t in tensors]
    if not any(quantized):
        return torch.cat(tensors)
    if not all(type(t) is type(first) for t in tensors):
        raise TypeError(f"expected weights of one kind, found {', '.join(type(t).__name__ for t in tensors)}")
    rows = _ROWS.get(type(first))
    if rows is None:
        raise TypeError(f"{type(first).__name__} cannot be fused; {', '.join(kind.__name__ for kind in _ROWS)} can")
    settings = []
    for name in first.tensor_attribute_names:
        found = [getattr(t, name) for t in tensors]
        if different := [value for value in found if value != found[0]]:
            raise ValueError(f"expected weights with the same {name}, found {found[0]!r} and {different[0]!r}")
        settings.append(found[0])
    parts = zip(first.tensor_data_names, rows, strict=True)
    return type(first)(*(torch.cat([getattr(t, name) for t in tensors], dim) for name, dim in parts), *settings)
