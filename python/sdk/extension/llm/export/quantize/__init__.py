# SPDX-License-Identifier: BSD-3-Clause
"""Quantising a language model as the settings say."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from sdk.extension.llm.export.backends import enabled_backends
from sdk.extension.llm.export.config.llm_config import LlmConfig, embedding_bits_and_group
from sdk.extension.llm.export.gguf import ExportableGGUFTensor
from sdk.extension.llm.export.quantize.module import quantize_model_
from sdk.extension.llm.export.settings import SettingsError
from sdk.extension.llm.model.transformer import Transformer

__all__ = ["UNSUPPORTED_QMODES", "quantize", "quantize_embeddings", "quantize_linear", "quantize_model_"]

_GROUP_SIZE = 32
UNSUPPORTED_QMODES = {
    "8da4w-gptq": "the GPTQ quantizer that this mode stood for is no longer part of torchao; use 8da4w, which chooses "
    "scales by half-quadratic optimisation (quantization.use_hqq)"
}
"""Modes that `LlmConfig` accepts but this version does not support, with what to do instead."""


def quantize(model: Transformer, config: LlmConfig) -> None:
    """Quantises the layers of a model, and packs those that the kernels of this runtime compute.

    Weights of a GGUF file keep their quantisation. Raises SettingsError for settings that do not go together.
    """
    qmode, embedding = config.quantization.qmode, config.quantization.embedding_quantize
    graph = config.quantization.pt2e_quantize
    if qmode is not None and graph is not None:
        raise SettingsError(
            f"quantization.qmode={qmode} and quantization.pt2e_quantize={graph.value} both quantise linear layers; "
            "choose one"
        )
    from torchao.quantization import IntxUnpackedToInt8Tensor

    linear = not enabled_backends(config) or config.backend.torchao.use_torchao_kernels_linear
    weights = [getattr(module, "weight", None) for module in model.modules()]
    gguf = any(isinstance(weight, ExportableGGUFTensor) for weight in weights)
    if gguf or any(isinstance(weight, IntxUnpackedToInt8Tensor) for weight in weights):
        if qmode is not None or embedding is not None or graph is not None:
            raise SettingsError(
                "the checkpoint is quantised already, and quantising again loses more: leave out quantization.qmode, "
                "quantization.embedding_quantize and quantization.pt2e_quantize"
            )
        if gguf or linear:
            _pack(model, with_embedding=gguf)
        return
    if config.model.use_shared_embedding and embedding is None:
        raise SettingsError(_needs_low_bit(embedding))
    if embedding is not None:
        quantize_embeddings(model, embedding, config.model.use_shared_embedding)
    kernels = embedding is not None and embedding.startswith("torchao:")
    kernels = kernels or config.backend.torchao.use_torchao_kernels_tied_embedding
    if qmode is not None:
        shared = [model.output] if config.model.use_shared_embedding else []
        quantize_linear(model, qmode, config.quantization.group_size, config.quantization.use_hqq, shared)
    if linear or kernels:
        _pack(model, kernels, linear and qmode is not None, not re.fullmatch(r"8da4w|torchao:8da\d+w", qmode or ""))


def _pack(model: Transformer, with_embedding: bool, with_linear: bool = True, float_activations: bool = False) -> None:
    from sdk.extension.llm.export.quantize.low_bit import pack_embedding, pack_linear

    if with_embedding:
        pack_embedding(model, float_activations)
    if with_linear:
        pack_linear(model, float_activations)


def _whole_groups(kind: type[nn.Module], group: int, *without: nn.Module) -> Callable[[nn.Module, str], bool]:
    """Layers of a kind whose rows are whole groups."""
    return lambda module, _: (
        isinstance(module, kind)
        and all(module is not other for other in without)
        and (not group or module.weight.shape[1] % group == 0)
    )


def quantize_embeddings(model: Transformer, embedding: str, shared: bool = False) -> None:
    """Quantises the embedding as `quantization.embedding_quantize` says; the output layer gets its weight if `shared`.

    Raises SettingsError for rows that are not whole groups, and for `shared` without "torchao:" or with different
    weights.
    """
    if shared:
        _check_shared(model, embedding)
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.quantization.quant_api import IntxWeightOnlyConfig, MappingType, quantize_

    bits, group = embedding_bits_and_group(embedding)
    if model.params.dim % (group or 1):
        raise SettingsError(
            f"quantization.embedding_quantize: rows of {model.params.dim} numbers are not whole groups of {group}"
        )
    table = IntxWeightOnlyConfig(
        weight_dtype=getattr(torch, f"int{bits}"),
        granularity=PerGroup(group) if group else PerAxis(0),
        mapping_type=MappingType.ASYMMETRIC if embedding.startswith("torchao:") else MappingType.SYMMETRIC,
    )
    quantize_(model, table, _whole_groups(nn.Embedding, group))
    if shared:
        model.output.weight = model.tok_embeddings.weight


def _needs_low_bit(embedding: str | None) -> str:
    return (
        "model.use_shared_embedding needs quantization.embedding_quantize=torchao:<bits>,<group size>, "
        f"found {embedding!r}"
    )


def _check_shared(model: Transformer, embedding: str) -> None:
    if not embedding.startswith("torchao:"):
        raise SettingsError(_needs_low_bit(embedding))
    if not torch.equal(model.tok_embeddings.weight, model.output.weight):
        raise SettingsError(
            "model.use_shared_embedding: the embedding and the output layer of this model have different weights; "
            "leave it out"
        )


def quantize_linear(
    model: nn.Module, qmode: str, group_size: int | None = None, use_hqq: bool = True, without: Sequence[nn.Module] = ()
) -> None:
    """Quantises the linear layers as `quantization.qmode` says, or in 8da8w, where their rows are whole groups.

    `group_size`: 32 when None; int8 has a scale for each row. `use_hqq`: scales by half-quadratic optimisation, where
    the mode has a choice. Raises SettingsError for int8 with a group size.
    """
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.quantization.quant_api import (
        Int8DynamicActivationIntxWeightConfig,
        IntxWeightOnlyConfig,
        MappingType,
        quantize_,
    )

    group = _GROUP_SIZE if group_size is None else group_size
    bits = int(re.sub(r"^(torchao:)?(8da|fpa|int)?|w$", "", qmode))
    if qmode == "int8":
        if group_size:
            raise SettingsError(
                f"quantization.group_size={group_size}: quantization.qmode=int8 has a scale for each row; leave it out"
            )
        group = 0
    dtype, granularity = getattr(torch, f"int{bits}"), PerGroup(group) if group else PerAxis(0)
    hqq: Any = "hqq_scale_only" if use_hqq else "affine"
    if qmode == "int8":
        how: Any = IntxWeightOnlyConfig(weight_dtype=dtype, granularity=granularity)
    elif "8da" in qmode:
        how = Int8DynamicActivationIntxWeightConfig(
            weight_dtype=dtype, weight_granularity=granularity, intx_choose_qparams_algorithm=hqq
        )
    elif "fpa" in qmode:
        how = IntxWeightOnlyConfig(weight_dtype=dtype, granularity=granularity, mapping_type=MappingType.ASYMMETRIC)
    else:
        how = IntxWeightOnlyConfig(weight_dtype=dtype, granularity=granularity, intx_choose_qparams_algorithm=hqq)
    quantize_(model, how, _whole_groups(nn.Linear, group, *without))
