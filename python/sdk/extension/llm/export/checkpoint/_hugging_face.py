# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints in Hugging Face's form: `config.json` and weights under the names of transformers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor

from sdk.examples.models.llama.model_args import ModelArgs
from sdk.extension.llm.export.checkpoint._names import CheckpointError, Names, Weights

_ATTENTION = {
    "self_attn.q_proj": "attention.wq",
    "self_attn.k_proj": "attention.wk",
    "self_attn.v_proj": "attention.wv",
    "self_attn.o_proj": "attention.wo",
    "self_attn.q_norm": "attention.q_norm_fn",
    "self_attn.k_norm": "attention.k_norm_fn",
    "input_layernorm": "attention_norm",
    "post_attention_layernorm": "ffn_norm",
}
_FEED_FORWARD = {
    "mlp.gate_proj": "feed_forward.w1",
    "mlp.down_proj": "feed_forward.w2",
    "mlp.up_proj": "feed_forward.w3",
}
_OUTSIDE = {"model.embed_tokens": "tok_embeddings", "model.norm": "norm", "lm_head": "output"}
_LLAMA = {**_ATTENTION, **_FEED_FORWARD}
_PHI3 = {
    **_LLAMA,
    "self_attn.qkv_proj": "attention.wq attention.wk attention.wv",
    "mlp.gate_up_proj": "feed_forward.w1 feed_forward.w3",
}
_GEMMA3 = {
    **_LLAMA,
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffn_norm",
}
_LFM2 = {
    **_ATTENTION,
    "self_attn.out_proj": "attention.wo",
    "self_attn.q_layernorm": "attention.q_norm_fn",
    "self_attn.k_layernorm": "attention.k_norm_fn",
    "operator_norm": "attention_norm",
    "ffn_norm": "ffn_norm",
    "feed_forward.w1": "feed_forward.w1",
    "feed_forward.w2": "feed_forward.w2",
    "feed_forward.w3": "feed_forward.w3",
    "conv.conv": "conv.conv",
    "conv.in_proj": "conv.B_proj conv.C_proj conv.x_proj",
    "conv.out_proj": "conv.out_proj",
}
_INSIDE = {"llama": _LLAMA, "qwen2": _LLAMA, "qwen3": _LLAMA, "phi3": _PHI3, "gemma3_text": _GEMMA3, "lfm2": _LFM2}
"""By `model_type`."""


def hugging_face_args(config: dict[str, Any], **overrides: Any) -> ModelArgs:
    """The hyperparameters of a `config.json`.

    `overrides`: fields of `ModelArgs`, such as `max_context_len`. Raises CheckpointError for a model that is not
    supported.
    """
    kind = config.get("model_type", "")
    if kind not in _INSIDE:
        raise CheckpointError(f"the model type {kind!r} is not supported; supported are {', '.join(_INSIDE)}")
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    fields: dict[str, Any] = {
        "dim": config["hidden_size"],
        "n_layers": config["num_hidden_layers"],
        "n_heads": config["num_attention_heads"],
        "n_kv_heads": config.get("num_key_value_heads"),
        "head_dim": config.get("head_dim"),
        "hidden_dim": config["intermediate_size"],
        "vocab_size": config["vocab_size"],
        "norm_eps": config.get("rms_norm_eps", config.get("norm_eps", 1e-6)),
        "use_hf_rope": True,
        "attention_qkv_bias": kind == "qwen2" or bool(config.get("attention_bias")),
        "use_qk_norm": kind in ("qwen3", "gemma3_text", "lfm2"),
        "qk_norm_before_rope": kind in ("qwen3", "gemma3_text", "lfm2"),
        "partial_rotary_factor": rope.get("partial_rotary_factor", config.get("partial_rotary_factor", 1.0)),
    }
    fields |= _rope_fields(config, rope)
    if kind == "gemma3_text":
        fields |= _gemma3_fields(config, rope)
    elif kind == "lfm2":
        if config.get("conv_L_cache", 3) != 3 or config.get("conv_bias"):
            raise CheckpointError("LFM2 is supported with convolutions over 3 positions without a bias only")
        fields["hidden_dim"] = _lfm2_width(config)
        fields["layer_types"] = list(config["layer_types"])
    elif config.get("sliding_window") and "sliding_attention" in (config.get("layer_types") or ()):
        fields |= {"layer_types": list(config["layer_types"]), "sliding_window": config["sliding_window"]}
    return ModelArgs(**{**fields, **overrides})


def _rope_fields(config: dict[str, Any], rope: dict[str, Any]) -> dict[str, Any]:
    kind = rope.get("rope_type", rope.get("type", "default"))
    fields: dict[str, Any] = {"rope_theta": rope.get("rope_theta", config.get("rope_theta"))}
    if kind == "llama3":
        fields |= {
            "use_scaled_rope": True,
            "rope_scale_factor": rope["factor"],
            "high_freq_factor": rope["high_freq_factor"],
        }
        if rope["low_freq_factor"] != 1 or rope["original_max_position_embeddings"] != 8192:
            raise CheckpointError(
                "Llama 3's RoPE is supported with a low_freq_factor of 1 and 8,192 trained positions only"
            )
    elif kind == "longrope":
        trained = rope.get("original_max_position_embeddings") or config["original_max_position_embeddings"]
        fields |= {
            "rope_scaling_short_factor": rope["short_factor"],
            "rope_scaling_long_factor": rope["long_factor"],
            "rope_scaling_attention_factor": rope.get("attention_factor"),
            "original_max_position_embeddings": trained,
            "max_position_embeddings": config["max_position_embeddings"],
        }
    elif kind != "default" and "full_attention" not in rope:
        raise CheckpointError(f"RoPE of the type {kind!r} is not supported; supported are default, llama3 and longrope")
    return fields


def _gemma3_fields(config: dict[str, Any], rope: dict[str, Any]) -> dict[str, Any]:
    whole, local = rope.get("full_attention", {}), rope.get("sliding_attention", {})
    if whole.get("rope_type", "default") != "default":
        raise CheckpointError(f"Gemma 3's RoPE of the type {whole['rope_type']!r} is not supported")
    return {
        "rms_norm_add_unit_offset": True,
        "post_attention_norm": True,
        "post_ffn_norm": True,
        "act_fn": "gelu_approx",
        "embedding_scale_factor": config["hidden_size"] ** 0.5,
        "attention_multiplier": config["query_pre_attn_scalar"] ** -0.5,
        "layer_types": list(config["layer_types"]),
        "sliding_window": config["sliding_window"],
        "rope_theta": whole.get("rope_theta", config.get("rope_theta")),
        "local_rope_theta": local.get("rope_theta", config.get("rope_local_base_freq")),
        "final_logit_softcapping": config.get("final_logit_softcapping"),
        "attn_logit_softcapping": config.get("attn_logit_softcapping"),
    }


def _lfm2_width(config: dict[str, Any]) -> int:
    """The width of LFM2's feed-forward blocks: transformers computes it from `intermediate_size`."""
    width = int(config.get("block_ff_dim", config["intermediate_size"]))
    if not config.get("block_auto_adjust_ff_dim", True):
        return width
    width = int((config.get("block_ffn_dim_multiplier") or 1) * int(2 * width / 3))
    multiple = int(config.get("block_multiple_of", 256))
    return -(-width // multiple) * multiple


def hugging_face_weights(items: Iterable[tuple[str, Tensor]], model_type: str, args: ModelArgs) -> Weights:
    """Weights under their names in transformers as those of `Transformer`. Raises CheckpointError for unknown names."""
    assert args.n_kv_heads is not None and args.head_dim is not None and args.hidden_dim is not None
    q_rows, kv_rows = args.n_heads * args.head_dim, args.n_kv_heads * args.head_dim

    def rows(name: str) -> list[int]:
        if "qkv_proj" in name:
            return [q_rows, kv_rows, kv_rows]
        return [args.hidden_dim or 0] * 2 if "gate_up" in name else [args.dim] * 3

    outside = {**_OUTSIDE, "model.embedding_norm": "norm"} if model_type == "lfm2" else _OUTSIDE
    return Names("model.layers.", _INSIDE[model_type], outside).rename(items, rows)
