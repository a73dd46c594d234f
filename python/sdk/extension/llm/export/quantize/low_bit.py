# SPDX-License-Identifier: BSD-3-Clause
"""Replaces layers whose weights a checkpoint or torchao has quantised by layers with packed weights of 1 to 8 bits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torchao.quantization import IntxUnpackedToInt8Tensor

from sdk.extension.llm.custom_ops import low_bit  # noqa: F401, registers the operators
from sdk.extension.llm.custom_ops.packed import LowBitMatrix, pack
from sdk.extension.llm.export.gguf import ExportableGGUFTensor
from sdk.extension.llm.export.gguf._blocks import FORMATS, groups_of
from sdk.extension.llm.model.attention import AttentionMHA
from sdk.extension.llm.model.feed_forward import FeedForward
from sdk.extension.llm.model.transformer import Transformer

_BIT_WIDTHS = {getattr(torch, f"int{bits}"): bits for bits in range(1, 9)}
Quantized = (ExportableGGUFTensor, IntxUnpackedToInt8Tensor)


class PackedLinear(nn.Module):
    """A linear layer of packed weights."""

    def __init__(self, matrix: LowBitMatrix, bias: Tensor | None, packed: Tensor, float_activations: bool) -> None:
        super().__init__()
        self.out_features, self.in_features = matrix.q.shape
        self.group_size = matrix.group
        self.register_buffer("packed_weights", packed)
        self.bias = bias
        # The name says how many bits the weights of the checkpoint have.
        self._operator = (
            torch.ops.llama.linear_packed
            if float_activations
            else getattr(torch.ops.torchao, f"_linear_8bit_act_{matrix.bits}bit_weight")
        )

    def forward(self, x: Tensor) -> Tensor:
        """[..., in_features] becomes [..., out_features] of the same dtype; the operator computes in float32."""
        y: Tensor = self._operator(x.float(), self.packed_weights, self.group_size, self.out_features, self.in_features)
        y = y.type_as(x)
        return y if self.bias is None else y + self.bias


class PackedEmbedding(nn.Module):
    """An embedding of packed weights, which a linear layer may share."""

    def __init__(self, matrix: LowBitMatrix, packed: Tensor) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = matrix.q.shape
        self.group_size = matrix.group
        self.register_buffer("packed_weights", packed)
        self._operator = getattr(torch.ops.torchao, f"_shared_embedding_{matrix.bits}bit")
        self.dtype = torch.float32
        """dtype of the results, which the operator computes in float32."""

    def forward(self, indices: Tensor) -> Tensor:
        """[..., embedding_dim] in `dtype`."""
        y: Tensor = self._operator(
            self.packed_weights, self.group_size, self.num_embeddings, self.embedding_dim, indices
        )
        return y.to(self.dtype)


def matrix_of_gguf(weight: ExportableGGUFTensor) -> LowBitMatrix:
    """The integers, scales and minima of GGUF blocks. Activations have a scale for each group, as in ggml."""
    format = FORMATS[weight.ggml_type]
    groups = groups_of(weight.raw, format)
    zero_point = 0 if groups.minimum is not None else format.zero_point
    q = (groups.q.to(torch.int16) + zero_point).to(torch.uint8)
    scale, minimum, factors = groups.scale, groups.minimum, None
    if groups.products is not None:
        (scale, minimum), factors = (*groups.products.codes, None)[:2], groups.products.factors
    return LowBitMatrix(q, scale, minimum, zero_point, format.bits, format.group, False, factors)


def matrix_of_intx(weight: Any) -> LowBitMatrix:
    """The integers, scales and zero points of torchao's `IntxUnpackedToInt8Tensor`. int8 activations have a scale and a
    zero point for each row."""
    bits, group = _BIT_WIDTHS[weight.target_dtype], int(weight.block_size[1])
    half = 1 << (bits - 1)
    rows, columns = weight.qdata.shape
    q = (weight.qdata.to(torch.int16) + half).to(torch.uint8)
    scale = weight.scale.reshape(rows, -1).float()
    zero_point = weight.zero_point.reshape(rows, -1).float() + half
    minimum = None if bool((zero_point == half).all()) else zero_point * scale
    return LowBitMatrix(q, scale, minimum, half if minimum is None else 0, bits, min(group, columns), True)


def matrix_of(weight: Any) -> LowBitMatrix:
    """The integers and scales of a weight, which is of one of the classes in `Quantized`."""
    return matrix_of_gguf(weight) if isinstance(weight, ExportableGGUFTensor) else matrix_of_intx(weight)


def can_be_packed(weight: Any) -> bool:
    """Whether a weight is quantised in groups that the packed form supports."""
    if isinstance(weight, ExportableGGUFTensor):
        return True
    if not isinstance(weight, IntxUnpackedToInt8Tensor) or weight.block_size[0] != 1:
        return False
    group, columns = int(weight.block_size[1]), weight.shape[1]
    return group == columns or group % 4 == 0


def pack_linear(model: nn.Module, float_activations: bool = False) -> None:
    """Replaces linear layers with quantised weights by layers that call the low-bit kernels.

    Projections of queries, keys and values become one layer if their weights have the same format, and so do the gate
    and the up projection. `float_activations`: multiply float32 activations instead of int8 ones.
    """
    for module in model.modules():
        if isinstance(module, AttentionMHA):
            _fuse(module, ("wq", "wk", "wv"), "wqkv", float_activations)
        elif isinstance(module, FeedForward):
            _fuse(module, ("w1", "w3"), "w13", float_activations)
    for parent in list(model.modules()):
        for name, layer in list(parent.named_children()):
            if isinstance(layer, nn.Linear) and can_be_packed(layer.weight):
                setattr(parent, name, _linear(matrix_of(layer.weight), layer.bias, float_activations))


def pack_embedding(model: Transformer, float_activations: bool = False) -> None:
    """Replaces the embedding, and an output layer of the same weights: both share one buffer.

    `float_activations`: as in `pack_linear`, for the output layer.
    """
    embedding: Any = getattr(model, "tok_embeddings", None)
    output: Any = getattr(model, "output", None)
    if embedding is None or not can_be_packed(embedding.weight):
        return
    matrix = matrix_of(embedding.weight)
    packed = pack(matrix)
    model.tok_embeddings = PackedEmbedding(matrix, packed)
    if output is not None and _same(embedding.weight, output.weight):
        model.output = PackedLinear(matrix, output.bias, packed, float_activations)


def _linear(matrix: LowBitMatrix, bias: Tensor | None, float_activations: bool) -> PackedLinear:
    return PackedLinear(matrix, bias, pack(matrix), float_activations)


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    gguf = isinstance(a, ExportableGGUFTensor) and isinstance(b, ExportableGGUFTensor)
    return gguf and a.ggml_type == b.ggml_type and a.raw.data_ptr() == b.raw.data_ptr() and a.shape == b.shape


def _fuse(module: Any, names: tuple[str, ...], fused: str, float_activations: bool) -> None:
    """Merges layers that have the same input, if their weights are quantised in the same format."""
    layers = [getattr(module, name) for name in names]
    if not all(isinstance(layer, nn.Linear) and can_be_packed(layer.weight) for layer in layers):
        return
    if len({layer.bias is None for layer in layers}) > 1:
        return
    matrices = [matrix_of(layer.weight) for layer in layers]
    alike = {(m.bits, m.group, m.zero_point, m.minimum is None, m.row_activations, m.factors is None) for m in matrices}
    if len(alike) > 1:
        return
    minima = [m.minimum for m in matrices if m.minimum is not None]
    factors = [m.factors for m in matrices if m.factors is not None]
    joined = replace(
        matrices[0],
        q=torch.cat([m.q for m in matrices]),
        scale=torch.cat([m.scale for m in matrices]),
        minimum=torch.cat(minima) if minima else None,
        factors=torch.cat(factors) if factors else None,
    )
    bias = None if layers[0].bias is None else torch.cat([layer.bias for layer in layers])
    setattr(module, fused, _linear(joined, bias, float_activations))
    for name in names:
        delattr(module, name)
