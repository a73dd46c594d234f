# SPDX-License-Identifier: BSD-3-Clause
"""Registers the operators of packed weights of 1 to 8 bits, whose kernels are in `kernels/llm`:

- `torchao::_linear_8bit_act_<bits>bit_weight`: linear layers whose activations are quantised to int8 when they run,
- `llama::linear_packed`: linear layers whose activations stay in float32,
- `torchao::_shared_embedding_<bits>bit`: rows of such weights, which a linear layer may share.

The first and the last have torchao's names and arguments. The bytes of the weights have the form of
`sdk.extension.llm.custom_ops.packed`, because torchao's form is not documented. Activations may have any number of
dimensions.
"""

from __future__ import annotations

import torch
import torchao  # noqa: F401, registers Meta kernels, and must do so before the code below
from torch import Tensor

from sdk.extension.llm.custom_ops._define import define, torchao_lib
from sdk.extension.llm.custom_ops.packed import LowBitMatrix, unpack

BITS = range(1, 9)


def quantized_activations(x: Tensor, group: int | None) -> Tensor:
    """float32 activations [rows, columns], quantised to int8 and dequantised, as float64.

    With a group size, a group has the scale max |x| / 127. Without, a row has a scale and a zero point (torchao's
    INT8_ASYM_PER_TOKEN). A group, or row, with NaN or infinity becomes NaN.
    """
    if group is None:
        least, most = x.amin(1, keepdim=True).clamp(max=0), x.amax(1, keepdim=True).clamp(min=0)
        scale = ((most - least) / 255).clamp(min=torch.finfo(torch.float32).eps)
        zero = (-128 - torch.round(least / scale)).clamp(-128, 127)
        q = (torch.round(x * (1 / scale)) + zero).clamp(-128, 127)
        scale = torch.where((most - least).isfinite(), scale, torch.nan)
        return (q.double() - zero.double()) * scale.double()
    rows, columns = x.shape
    padded = torch.nn.functional.pad(x, (0, -columns % group)).view(rows, -1, group)
    scale = padded.abs().amax(2, keepdim=True) / 127
    tiny = scale < torch.finfo(torch.float32).tiny
    q = torch.where(tiny, 0, torch.round(padded * (1 / scale)))
    scale = torch.where(scale.isfinite(), scale, torch.nan)
    return (q.double() * scale.double()).view(rows, -1)[:, :columns]


def _unpacked(packed_weights: Tensor, n: int, k: int) -> LowBitMatrix:
    matrix = unpack(packed_weights)
    if matrix.q.shape != (n, k):
        raise ValueError(f"expected packed weights of {n} rows and {k} columns, found {list(matrix.q.shape)}")
    return matrix


def _check(activations: Tensor, packed_weights: Tensor, k: int) -> None:
    if activations.dtype != torch.float32 or packed_weights.dtype != torch.uint8:
        raise ValueError(
            f"expected float32 activations and uint8 packed weights, found {activations.dtype} and "
            f"{packed_weights.dtype}"
        )
    if activations.dim() == 0 or activations.shape[-1] != k:
        raise ValueError(
            f"rows of activations must have {k} elements, as the weights have columns; found the shape "
            f"{list(activations.shape)}"
        )


def linear_8bit_act(activations: Tensor, packed_weights: Tensor, group_size: int, n: int, k: int) -> Tensor:
    """activations [..., k], quantised to int8, times the transpose of packed weights [n, k]: float32 [..., n].

    `group_size` is also in the packed weights, where it is read."""
    _check(activations, packed_weights, k)
    matrix = _unpacked(packed_weights, n, k)
    x = quantized_activations(activations.reshape(-1, k), None if matrix.row_activations else matrix.group)
    return (x @ matrix.dequantize().double().t()).float().view(*activations.shape[:-1], n)


def linear_packed(activations: Tensor, packed_weights: Tensor, group_size: int, n: int, k: int) -> Tensor:
    """activations [..., k] times the transpose of packed weights [n, k]: float32 [..., n].

    `group_size` is also in the packed weights, where it is read."""
    _check(activations, packed_weights, k)
    return activations @ _unpacked(packed_weights, n, k).dequantize().t()


def _linear_meta(activations: Tensor, packed_weights: Tensor, group_size: int, n: int, k: int) -> Tensor:
    _check(activations, packed_weights, k)
    return activations.new_empty((*activations.shape[:-1], n))


def shared_embedding(packed_weights: Tensor, group_size: int, n: int, k: int, indices: Tensor) -> Tensor:
    """The rows `indices` of packed weights [n, k]: float32 [..., k].

    `group_size` is also in the packed weights, where it is read."""
    return torch.nn.functional.embedding(indices, _unpacked(packed_weights, n, k).dequantize())


def _embedding_meta(packed_weights: Tensor, group_size: int, n: int, k: int, indices: Tensor) -> Tensor:
    return packed_weights.new_empty((*indices.shape, k), dtype=torch.float32)


_LINEAR = "Tensor activations, Tensor packed_weights, int group_size, int n, int k"
_EMBEDDING = "Tensor packed_weights, int group_size, int n, int k, Tensor indices"
define("linear_packed", _LINEAR, linear_packed, _linear_meta)
for _bits in BITS:
    define(f"_linear_8bit_act_{_bits}bit_weight", _LINEAR, linear_8bit_act, _linear_meta, library=torchao_lib)
    define(f"_shared_embedding_{_bits}bit", _EMBEDDING, shared_embedding, _embedding_meta, library=torchao_lib)
