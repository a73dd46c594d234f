# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints whose weights are quantised already, such as those of Llama 3.2 with SpinQuant or QAT.

A layer has `NAME.weight`, int8, and `NAME.scales`: [rows, groups], or [rows] for one scale a row. There may be
`NAME.zeros` of the same shape. Linear layers are meant to be multiplied with int8 activations.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sdk.extension.llm.export.checkpoint._names import CheckpointError, Weights

_EMBEDDING = "tok_embeddings"


def prequantized_weights(
    weights: Weights, linear_bits: int, group: int, output_bits: int, embedding: tuple[int, int]
) -> Weights:
    """Returns the weights. Quantised ones become torchao's `IntxUnpackedToInt8Tensor` with the same integers.

    `group`: the number of weights that share a scale in linear layers; 0 for a whole row. An output layer whose
    `output_bits` differ from `linear_bits` has one scale a row. `embedding`: the bits and the group of the embedding.
    Raises CheckpointError for a weight without scales, groups of another size, integers of more bits, and a checkpoint
    without int8 weights.
    """
    found: Weights = {}
    for name, value in weights.items():
        stem, _, kind = name.rpartition(".")
        if kind in ("scales", "zeros"):
            continue
        if value.dtype != torch.int8:
            found[name] = value.float()
            continue
        bits, size = linear_bits, group
        if stem == _EMBEDDING:
            bits, size = embedding
        elif stem == "output" and output_bits != linear_bits:
            bits, size = output_bits, 0
        scales, zeros = (weights.get(f"{stem}.{part}") for part in ("scales", "zeros"))
        if scales is None:
            raise CheckpointError(f"{name} is quantised, but {stem}.scales is missing")
        found[name] = _intx(name, value, scales, zeros, bits, size or value.shape[1])
    if not any(value.dtype == torch.int8 for value in weights.values()):
        raise CheckpointError("base.preq_mode is for weights that are quantised: this checkpoint has no int8 weights")
    return found


def _intx(name: str, value: Tensor, scales: Tensor, zeros: Tensor | None, bits: int, group: int) -> Any:
    from torchao.quantization.quantize_.workflows.intx.intx_unpacked_to_int8_tensor import (
        IntxUnpackedToInt8Tensor,
        IntxUnpackedToInt8TensorActivationQuantization,
    )

    rows, columns = value.shape
    groups = columns // group
    if columns % group or scales.numel() != rows * groups:
        raise CheckpointError(
            f"{name} has the shape {list(value.shape)} and scales of the shape {list(scales.shape)}; expected a scale "
            f"for {group} weights (base.preq_group_size, base.preq_embedding_quantize)"
        )
    half = 1 << (bits - 1)
    if int(value.min()) < -half or int(value.max()) >= half:
        raise CheckpointError(f"{name} has integers from {value.min()} to {value.max()}; expected {bits} bits")
    zero_point = torch.zeros(rows, groups, dtype=torch.int8)
    if zeros is not None:
        zero_point = zeros.reshape(rows, groups).to(torch.int8)
    per_token = IntxUnpackedToInt8TensorActivationQuantization.INT8_ASYM_PER_TOKEN
    return IntxUnpackedToInt8Tensor(
        value,
        scales.reshape(rows, groups).float(),
        zero_point,
        getattr(torch, f"int{bits}"),
        (1, group),
        torch.float32,
        None if name.startswith(_EMBEDDING) else per_token,
    )
