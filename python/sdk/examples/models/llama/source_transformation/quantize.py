# SPDX-License-Identifier: BSD-3-Clause
"""Quantising the layers of a model; the definitions are those of `sdk.extension.llm`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from sdk.extension.llm.export.builder import DType
from sdk.extension.llm.export.config.llm_config import embedding_bits_and_group
from sdk.extension.llm.export.quantize import quantize_embeddings, quantize_linear
from sdk.extension.llm.export.quantize.handlers import (
    EmbeddingQuantHandler,
    QuantHandler,
    WeightOnlyInt8QuantHandler,
    replace_embedding_weight_only_grouped_int8_per_channel,
    replace_linear_weight_only_int8_per_channel,
)
from sdk.extension.llm.model.quantized_layers import (
    Int8DynActInt8WeightLinear,
    QuantizedGroupEmbedding,
    WeightOnlyInt8Linear,
    dynamically_quantize_per_channel,
    linear_forward_8da8w,
)

__all__ = [
    "EmbeddingQuantHandler",
    "Int8DynActInt8WeightLinear",
    "QuantHandler",
    "QuantizedGroupEmbedding",
    "WeightOnlyInt8Linear",
    "WeightOnlyInt8QuantHandler",
    "dynamically_quantize_per_channel",
    "get_quant_embedding_transform",
    "get_quant_weight_transform",
    "linear_forward_8da8w",
    "quantize",
    "replace_embedding_weight_only_grouped_int8_per_channel",
    "replace_linear_weight_only_int8_per_channel",
    "set_8da4w_computation_dtype",
]
_GROUP_SIZES = {"8da4w": 128, "8da8w": 128, "4w": 256}


def quantize(
    model: nn.Module,
    qmode: str,
    computation_dtype: DType | None = None,
    checkpoint_dtype: DType | None = None,
    checkpoint_path: Path | None = None,
    group_size: int | None = None,
    calibration_tasks: list[str] | None = None,
    calibration_limit: int | None = None,
    calibration_seq_length: int | None = None,
    pad_calibration_inputs: bool = False,
    percdamp: float = 0.01,
    blocksize: int = 128,
    tokenizer_path: Path | None = None,
    verbose: bool = False,
    quantize_with_hqq: bool = True,
) -> nn.Module:
    """Quantises the linear layers of a model, and returns it.

    `qmode`: int8 (`WeightOnlyInt8Linear`), 8da4w, 8da8w and 4w, or torchao:8da<bits>w and torchao:fpa<bits>w, whose
    weights are torchao's tensors. `group_size`: by default 128 with int8 activations and 256 with floats; the torchao
    modes require a value, and int8, which has a scale for each row, takes none. `checkpoint_dtype`: the dtype in which
    scales of int8 are computed. `checkpoint_path`, `calibration_tasks`, `calibration_limit`, `calibration_seq_length`,
    `pad_calibration_inputs`, `percdamp`, `blocksize` and `tokenizer_path` have no effect: they belonged to 8da4w-gptq,
    which torchao has removed and which is refused. Raises ValueError for other modes.
    """
    if qmode == "int8":
        precision = checkpoint_dtype or computation_dtype or DType.fp32
        handler = WeightOnlyInt8QuantHandler(model, group_size=group_size, precision=precision.to_torch_dtype())
        return handler.quantized_model()
    if not re.fullmatch(r"8da[48]w|4w|torchao:(8da|fpa)[1-8]w", qmode):
        raise ValueError(f"qmode={qmode!r} is not known; known are int8, {', '.join(_GROUP_SIZES)}, torchao:8da<bits>w")
    size = _GROUP_SIZES.get(qmode) if group_size is None else group_size
    if size is None:
        raise ValueError(f"qmode={qmode!r} needs group_size")
    quantize_linear(model, qmode, size, quantize_with_hqq)
    if verbose:
        print("quantised:", model)
    return model


def get_quant_weight_transform(
    quantization_mode: str,
    group_size: int | None = None,
    computation_dtype: DType | None = None,
    checkpoint_dtype: DType | None = None,
    checkpoint_path: Path | None = None,
    tokenizer_path: Path | None = None,
    calibration_tasks: list[str] | None = None,
    calibration_limit: int | None = None,
    calibration_seq_length: int | None = None,
    quantize_with_hqq: bool = True,
) -> Callable[[nn.Module], nn.Module]:
    """`quantize` with these arguments, for `LLMEdgeManager.source_transform`. `checkpoint_path`, `tokenizer_path`,
    `calibration_tasks`, `calibration_limit` and `calibration_seq_length` have no effect, as there."""
    return partial(
        quantize,
        qmode=quantization_mode,
        computation_dtype=computation_dtype,
        checkpoint_dtype=checkpoint_dtype,
        group_size=group_size,
        quantize_with_hqq=quantize_with_hqq,
    )


def get_quant_embedding_transform(
    embedding_quantize: str, use_shared_embedding: bool = False, quantize_with_hqq: bool = True
) -> Callable[[Any], nn.Module]:
    """Quantises embeddings, for `LLMEdgeManager.source_transform`: "<bits>,<group size>" to `QuantizedGroupEmbedding`,
    "torchao:<bits>,<group size>" to torchao's tensors.

    `use_shared_embedding`: the output layer of a model gets the weight of its embedding, with torchao's only.
    `quantize_with_hqq` is for `QuantizedGroupEmbedding`; torchao's tensors have zero points, which HQQ does not choose.
    Raises ValueError for other text, and for `use_shared_embedding` with `QuantizedGroupEmbedding`.
    """
    bits, group = embedding_bits_and_group(embedding_quantize)
    if not embedding_quantize.startswith("torchao:"):
        if use_shared_embedding:
            raise ValueError(
                f'use_shared_embedding=True needs "torchao:<bits>,<group size>", found {embedding_quantize!r}'
            )
        return lambda model: EmbeddingQuantHandler(
            model, bitwidth=bits, group_size=group, packed=bits < 8, quantize_with_hqq=quantize_with_hqq
        ).quantized_model()

    def quantized(model: Any) -> nn.Module:
        quantize_embeddings(model, embedding_quantize, use_shared_embedding)
        found: nn.Module = model
        return found

    return quantized


def set_8da4w_computation_dtype(module: nn.Module, computation_dtype: torch.dtype) -> nn.Module:
    """Sets the dtype of the results of torchao's `Int8DynActInt4WeightLinear`. Returns the module."""
    from torchao.quantization.linear_quant_modules import Int8DynActInt4WeightLinear

    for layer in module.modules():
        if isinstance(layer, Int8DynActInt4WeightLinear):
            layer.precision = computation_dtype
    return module
