# SPDX-License-Identifier: BSD-3-Clause
"""How models stretch the frequencies of rotary position embedding for contexts longer than they were trained on."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sdk.extension.llm.model.model_args import ModelArgs

LLAMA3_CONTEXT = 8192
"""Positions on which Llama 3 was trained before its context was extended."""
_TYPES = (None, "linear", "dynamic", "yarn")


def base_frequencies(params: ModelArgs, theta: float | None = None) -> Tensor:
    """Radians for each position, float64 [half of the rotated elements of a head]. `theta`: the base frequency."""
    assert params.head_dim is not None
    rotated = int(params.head_dim * params.partial_rotary_factor)
    if rotated + rotated % 2 > params.head_dim:
        raise ValueError(f"RoPE rotates pairs of elements, but a head has {params.head_dim} of them, an odd number")
    return (theta or params.rope_freq_base) ** -(torch.arange(0, rotated, 2, dtype=torch.float64) / rotated)


def stretched(params: ModelArgs, frequencies: Tensor) -> Tensor:
    """Returns the frequencies that the model uses. Raises ValueError for unknown kinds of scaling, and for parameters
    that do not fit.

    For `dynamic`, these are the frequencies within the trained length; `grown` computes those of longer sequences.
    """
    if params.rope_scaling_type not in _TYPES:
        raise ValueError(
            f"rope_scaling_type={params.rope_scaling_type!r} is not known; known are linear, dynamic and yarn"
        )
    if params.use_scaled_rope:
        trained = params.original_max_position_embeddings or LLAMA3_CONTEXT
        low, high = params.low_freq_factor, params.high_freq_factor
        frequencies = long_wavelengths(frequencies, params.rope_scale_factor, low, high, trained)
    if (divisors := _divisors(params)) is not None:
        if len(divisors) != len(frequencies):
            raise ValueError(f"LongRoPE has {len(divisors)} factors, but a head has {len(frequencies)} frequencies")
        frequencies = frequencies / torch.tensor(divisors, dtype=torch.float64)
    if params.rope_scaling_type == "linear":
        return frequencies / params.rope_scaling_factor
    return _yarn(params, frequencies) if params.rope_scaling_type == "yarn" else frequencies


def attention_factor(params: ModelArgs) -> float:
    """The scale of sines and cosines."""
    if params.rope_scaling_attention_factor is not None:
        return params.rope_scaling_attention_factor
    if params.rope_scaling_type == "yarn":
        return 0.1 * math.log(params.rope_scaling_factor) + 1 if params.rope_scaling_factor > 1 else 1.0
    if _divisors(params) is None or params.original_max_position_embeddings is None:
        return 1.0
    growth = (params.max_position_embeddings or params.max_context_len) / params.original_max_position_embeddings
    return math.sqrt(1 + math.log(max(growth, 1.0)) / math.log(params.original_max_position_embeddings))


def grows(params: ModelArgs) -> bool:
    """Whether the frequencies depend on the length of the sequence: `dynamic` scaling beyond the trained length.

    Raises ValueError for `dynamic` scaling without a trained length.
    """
    if params.rope_scaling_type != "dynamic":
        return False
    if params.max_position_embeddings is None:
        raise ValueError("rope_scaling_type='dynamic' needs max_position_embeddings, the trained length")
    return params.max_context_len > params.max_position_embeddings


def grown(params: ModelArgs, frequencies: Tensor, positions: Tensor) -> Tensor:
    """Returns the frequencies for a call at int64 [tokens] `positions`: the base frequency grows with the last
    position.

    The keys of earlier calls stay as they were rotated, as in transformers.
    """
    trained, factor = float(params.max_position_embeddings or 0), params.rope_scaling_factor
    length = (positions[-1:] + 1).double().clamp(min=trained)
    growth = factor * length / trained - (factor - 1)
    count = frequencies.shape[0]
    # The base is multiplied by growth^(d / (d - 2)) and has the exponents -2 i / d.
    exponents = torch.arange(count, dtype=torch.float64) / (count - 1)
    return frequencies * torch.exp(-torch.log(growth) * exponents)


def _divisors(params: ModelArgs) -> list[float] | None:
    trained = params.original_max_position_embeddings
    beyond = trained is not None and params.max_context_len > trained
    first, second = params.rope_scaling_short_factor, params.rope_scaling_long_factor
    return (second or first) if beyond else (first or second)


def long_wavelengths(frequencies: Tensor, factor: float, low: float, high: float, trained: int) -> Tensor:
    """Llama 3.1's scaling: wavelengths above 1 / low of the trained context grow by `factor`, wavelengths below 1 /
    high of it stay, and those between are interpolated."""
    periods = trained * frequencies / (2 * math.pi)
    kept = ((periods - low) / (high - low)).clamp(0, 1)
    return frequencies * (kept + (1 - kept) / factor)


def _yarn(params: ModelArgs, frequencies: Tensor) -> Tensor:
    """YaRN (Peng et al., 2023): frequencies that turn more than `beta_fast` times in the trained context stay, those
    that turn less than `beta_slow` times are divided by the factor, and those between are interpolated by their index.
    """
    if params.original_max_position_embeddings is None:
        raise ValueError("rope_scaling_type='yarn' needs original_max_position_embeddings, the trained length")
    if params.rope_freq_base <= 1:
        raise ValueError(f"rope_scaling_type='yarn' needs a rope_theta above 1, found {params.rope_freq_base}")
    trained, count = params.original_max_position_embeddings, len(frequencies)

    def place(turns: float) -> float:
        return count * math.log(trained / (turns * 2 * math.pi)) / math.log(params.rope_freq_base)

    low, high = place(params.rope_scaling_beta_fast), place(params.rope_scaling_beta_slow)
    if params.rope_scaling_truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, 2 * count - 1)
    divided = ((torch.arange(count, dtype=torch.float64) - low) / ((high - low) or 0.001)).clamp(0, 1)
    return frequencies * (1 - divided + divided / params.rope_scaling_factor)
