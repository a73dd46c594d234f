# SPDX-License-Identifier: BSD-3-Clause
"""Quantising the layers of a module of any kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

_WHOLE_ROWS = ("8w", "8da8w")
"""Kinds whose scales are per row unless a group size is given."""
_ELSEWHERE = {"fpa4w": "of Apple's GPUs", "nvfp4": "of CUDA and MLX"}
"""Kinds that ExecuTorch has, whose weights only these kernels compute."""


def quantize_model_(
    module: nn.Module,
    qlinear_config: str | None = None,
    qlinear_group_size: int | None = None,
    qlinear_packing_format: str | None = None,
    qembedding_config: str | None = None,
    qembedding_group_size: int | None = None,
    tie_word_embeddings: bool = False,
    skip_incompatible_shapes: bool = False,
) -> None:
    """Quantises the linear layers of a module (`4w`, `8w`, `8da4w`, `8da8w`) and its embeddings (`4w`, `8w`) in place.

    `4w` and `8w` are int4 and int8 weights; `8da` means that activations are quantised to int8 when the program runs.
    The group size is the number of weights that share a scale, 0 for whole rows; by default 32 for 4 bits and 0 for 8.
    Scales are chosen by half-quadratic optimisation. `tie_word_embeddings`: if both have the same kind and group size,
    `lm_head` of a model of transformers gets the weight of `model.embed_tokens`; otherwise each gets its own.
    `skip_incompatible_shapes`: layers whose rows are not whole groups stay unchanged; otherwise the first such layer
    raises RuntimeError. Raises ValueError for unknown kinds, and for layers to tie that the model lacks or that have
    different weights; NotImplementedError for kinds whose kernels are not here.
    """
    if qlinear_packing_format is not None:
        raise NotImplementedError(f"qlinear_packing_format={qlinear_packing_format!r}: packed weights are for CUDA")
    of_embedding = of_linear = None
    if qembedding_config is not None:
        of_embedding = _config("qembedding_config", qembedding_config, qembedding_group_size, ("4w", "8w"))
    if qlinear_config is not None:
        kinds = ("4w", "8w", "8da4w", "8da8w")
        of_linear = _config("qlinear_config", qlinear_config, qlinear_group_size, kinds)
    tied = None
    if tie_word_embeddings and of_embedding and of_linear:
        is_alike = qembedding_config == qlinear_config and of_embedding[1] == of_linear[1]
        tied = _tied(module) if is_alike else None
    for kind, config, found in (
        (nn.Embedding, qembedding_config, of_embedding),
        (nn.Linear, qlinear_config, of_linear),
    ):
        if config is not None and found is not None:
            how, group = found
            _quantize(module, how, _fits(kind, config, group, skip_incompatible_shapes))
    if tied is not None:
        head, embedding = tied
        head.weight = embedding.weight


def _tied(module: nn.Module) -> tuple[nn.Linear, nn.Embedding]:
    """The output layer and the embedding of a model of transformers. Raises ValueError if their weights differ."""
    head, embedding = getattr(module, "lm_head", None), getattr(getattr(module, "model", None), "embed_tokens", None)
    if not isinstance(head, nn.Linear) or not isinstance(embedding, nn.Embedding):
        raise ValueError(
            "tie_word_embeddings=True: expected the layers lm_head (nn.Linear) and model.embed_tokens (nn.Embedding), "
            f"found {type(head).__name__} and {type(embedding).__name__}; leave it out"
        )
    if head.weight is not embedding.weight and not torch.equal(head.weight, embedding.weight):
        raise ValueError(
            "tie_word_embeddings=True: lm_head and model.embed_tokens have different weights; leave it out"
        )
    return head, embedding


def _quantize(module: nn.Module, how: Any, fits: Callable[[nn.Module, str], bool]) -> None:
    from torchao.quantization.quant_api import quantize_

    quantize_(module, how, fits)


def _config(argument: str, kind: str, group: int | None, kinds: tuple[str, ...]) -> tuple[Any, int]:
    """torchao's configuration and the group size."""
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, IntxWeightOnlyConfig

    if kind in _ELSEWHERE:
        raise NotImplementedError(
            f"{argument}={kind!r} is for kernels {_ELSEWHERE[kind]}, which are not here; use {', '.join(kinds)}"
        )
    if kind not in kinds:
        raise ValueError(f"{argument}={kind!r} is not known; known are {', '.join(kinds)}")
    size = (0 if kind in _WHOLE_ROWS else 32) if group is None else group
    granularity = PerGroup(size) if size else PerAxis(0)
    dtype = torch.int4 if kind.endswith("4w") else torch.int8
    if kind.startswith("8da"):
        how: Any = Int8DynamicActivationIntxWeightConfig(
            weight_dtype=dtype, weight_granularity=granularity, intx_choose_qparams_algorithm="hqq_scale_only"
        )
    else:
        how = IntxWeightOnlyConfig(
            weight_dtype=dtype, granularity=granularity, intx_choose_qparams_algorithm="hqq_scale_only"
        )
    return how, size


def _fits(kind: type[nn.Module], config: str, group: int, skip: bool) -> Callable[[nn.Module, str], bool]:
    def fits(module: nn.Module, name: str) -> bool:
        if not isinstance(module, kind):
            return False
        columns = module.weight.shape[1]
        if not group or columns % group == 0:
            return True
        if skip:
            return False
        raise RuntimeError(
            f"{name}: rows of {columns} weights are not whole groups of {group} ({config}); choose another group size, "
            "or leave such layers out by skip_incompatible_shapes=True"
        )

    return fits
