# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints in GGUF files: hyperparameters from the metadata, weights as they are quantised."""

from __future__ import annotations

from typing import Any

import torch

from sdk.examples.models.llama.model_args import ModelArgs
from sdk.extension.llm.export.checkpoint._names import CheckpointError, Names, Weights
from sdk.extension.llm.export.gguf import GGUFFile, iter_gguf

_INSIDE = {
    "attn_q": "attention.wq",
    "attn_k": "attention.wk",
    "attn_v": "attention.wv",
    "attn_output": "attention.wo",
    "attn_q_norm": "attention.q_norm_fn",
    "attn_k_norm": "attention.k_norm_fn",
    "attn_qkv": "attention.wq attention.wk attention.wv",
    "attn_norm": "attention_norm",
    "ffn_norm": "ffn_norm",
    "ffn_gate": "feed_forward.w1",
    "ffn_down": "feed_forward.w2",
    "ffn_up": "feed_forward.w3",
}
_OUTSIDE = {"token_embd": "tok_embeddings", "output_norm": "norm", "output": "output"}
_HALVES = {"llama": False, "qwen2": True, "qwen3": True, "phi3": True}
"""Whether RoPE rotates halves of a head, by `general.architecture`: converters permute the weights of `llama` to
pairs."""
_ROPE_DIVISORS = "rope_freqs.weight"


def gguf_args(file: GGUFFile, **overrides: Any) -> ModelArgs:
    """The hyperparameters of a GGUF file.

    `overrides`: fields of `ModelArgs`, such as `max_context_len`. Raises CheckpointError for a model that is not
    supported, or whose metadata lack what its architecture needs.
    """
    metadata = file.metadata
    kind = metadata.get("general.architecture")
    if kind not in _HALVES:
        raise CheckpointError(
            f"{file.path}: the architecture {kind!r} is not supported; supported are {', '.join(_HALVES)}"
        )

    def value(key: str, default: Any = None) -> Any:
        found = metadata.get(f"{kind}.{key}", default)
        if found is None:
            raise CheckpointError(f"{file.path}: the metadata lack {kind}.{key}")
        return found

    if "token_embd.weight" not in file.tensors:
        raise CheckpointError(f"{file.path}: token_embd.weight is missing, which the embedding of tokens is made from")
    heads, dim = value("attention.head_count"), value("embedding_length")
    head_dim = value("attention.key_length", dim // heads)
    scaling = value("rope.scaling.type", "none")
    if scaling not in ("none", "longrope"):
        raise CheckpointError(f"{file.path}: RoPE scaling of the type {scaling!r} is not supported")
    fields: dict[str, Any] = {
        "dim": dim,
        "n_layers": value("block_count"),
        "n_heads": heads,
        "n_kv_heads": value("attention.head_count_kv", heads),
        "head_dim": head_dim,
        "hidden_dim": value("feed_forward_length"),
        "vocab_size": file.tensors["token_embd.weight"].shape[0],
        "norm_eps": value("attention.layer_norm_rms_epsilon"),
        "rope_theta": value("rope.freq_base", 10000.0),
        "partial_rotary_factor": value("rope.dimension_count", head_dim) / head_dim,
        "use_hf_rope": _HALVES[kind],
        "attention_qkv_bias": "blk.0.attn_q.bias" in file.tensors,
        "use_qk_norm": "blk.0.attn_q_norm.weight" in file.tensors,
        "qk_norm_before_rope": True,
    }
    if _ROPE_DIVISORS in file.tensors:
        fields["rope_scaling_short_factor"] = file[_ROPE_DIVISORS].tolist()
    if "rope_factors_short.weight" in file.tensors:
        fields |= {
            "rope_scaling_short_factor": file["rope_factors_short.weight"].tolist(),
            "rope_scaling_long_factor": file["rope_factors_long.weight"].tolist(),
            "original_max_position_embeddings": value("rope.scaling.original_context_length"),
            "max_position_embeddings": value("context_length"),
            "rope_scaling_attention_factor": metadata.get(f"{kind}.rope.scaling.attn_factor"),
        }
    return ModelArgs(**{**fields, **overrides})


def gguf_weights(file: GGUFFile, args: ModelArgs) -> Weights:
    """The tensors of a file under the names of `Transformer`; quantised ones are `ExportableGGUFTensor`.

    Raises CheckpointError for names that are not known.
    """
    assert args.n_kv_heads is not None and args.head_dim is not None and args.hidden_dim is not None
    q_rows, kv_rows = args.n_heads * args.head_dim, args.n_kv_heads * args.head_dim
    fused_gate = {"ffn_up": "feed_forward.w1 feed_forward.w3"} if "blk.0.ffn_gate.weight" not in file.tensors else {}
    hidden = args.hidden_dim

    def rows(name: str) -> list[int]:
        return [q_rows, kv_rows, kv_rows] if "attn_qkv" in name else [hidden, hidden]

    tables = (_ROPE_DIVISORS, "rope_factors_short.weight", "rope_factors_long.weight")
    items = ((name, value) for name, value in iter_gguf(file.path) if name not in tables)
    weights = Names("blk.", {**_INSIDE, **fused_gate}, _OUTSIDE).rename(items, rows)
    return {name: _float32(value) for name, value in weights.items()}


def _float32(value: Any) -> Any:
    """Floats as the module has them; quantised weights dequantise to float32."""
    return value.to(torch.float32)
