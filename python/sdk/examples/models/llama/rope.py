# SPDX-License-Identifier: BSD-3-Clause
"""Rotary position embeddings; the definitions are those of `sdk.extension.llm.model`."""

from sdk.extension.llm.model.rope import Rope, rotate_half
from sdk.extension.llm.model.rotary import (
    RotaryEmbedding,
    apply_rotary_emb,
    apply_rotary_emb_to_k,
    apply_scaling,
    hf_apply_rotary_emb,
    hf_apply_rotary_emb_to_k,
    hf_precompute_freqs_cis,
    precompute_freqs_cis,
    reshape_for_broadcast,
)

__all__ = [
    "Rope",
    "RotaryEmbedding",
    "apply_rotary_emb",
    "apply_rotary_emb_to_k",
    "apply_scaling",
    "hf_apply_rotary_emb",
    "hf_apply_rotary_emb_to_k",
    "hf_precompute_freqs_cis",
    "precompute_freqs_cis",
    "reshape_for_broadcast",
    "rotate_half",
]
