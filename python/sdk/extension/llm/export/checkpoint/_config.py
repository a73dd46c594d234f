# SPDX-License-Identifier: BSD-3-Clause
"""Defaults of the fields of a `config.json`, by `model_type`.

Defaults come from the model's configuration class in transformers. A field that is neither read (`_hugging_face.py`,
`_rope.py`) nor in a table here is an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_LLAMA = {
    "self_attn.q_proj": "attention.wq",
    "self_attn.k_proj": "attention.wk",
    "self_attn.v_proj": "attention.wv",
    "self_attn.o_proj": "attention.wo",
    "self_attn.q_norm": "attention.q_norm_fn",
    "self_attn.k_norm": "attention.k_norm_fn",
    "input_layernorm": "attention_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "feed_forward.w1",
    "mlp.down_proj": "feed_forward.w2",
    "mlp.up_proj": "feed_forward.w3",
}
_PHI3 = {
    **_LLAMA,
    "self_attn.qkv_proj": "attention.wq attention.wk attention.wv",
    "mlp.gate_up_proj": "feed_forward.w1 feed_forward.w3",
}
_NORMS_OF_SUMS = {
    **_LLAMA,
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffn_norm",
}
_LFM2 = {
    **_LLAMA,
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


@dataclass(frozen=True)
class ModelType:
    """A `model_type` of transformers."""

    names: dict[str, str]
    """The names of the weights of a layer, in the form that `Names` expects."""
    defaults: dict[str, Any]
    """Defaults of the fields that are read for this type, where they differ from `_DEFAULTS`."""
    rope_theta: float = 10000.0
    attention_bias: bool = True
    """Whether `attention_bias` is read: as a bias of queries, keys and values, and of the layer after attention."""
    mlp_bias: bool = False
    """Whether `mlp_bias` is read."""
    without_effect: frozenset[str] = frozenset()
    """Fields without effect in this type, in addition to those without effect in all types."""
    fields: dict[str, Any] = field(default_factory=dict)
    """Fields of `ModelArgs`, for all models of the type."""


_DEFAULTS: dict[str, Any] = {
    "num_key_value_heads": None,
    "head_dim": None,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "max_position_embeddings": 2048,
    "attention_bias": False,
    "mlp_bias": False,
    "sliding_window": None,
    "layer_types": None,
    "tie_word_embeddings": False,
}
_QWEN: dict[str, Any] = {
    "num_key_value_heads": 32,
    "max_position_embeddings": 32768,
    "use_sliding_window": False,
    "sliding_window": 4096,
    "max_window_layers": 28,
}
_GEMMA: dict[str, Any] = {
    "num_key_value_heads": 4,
    "head_dim": 256,
    "hidden_activation": "gelu_pytorch_tanh",
    "query_pre_attn_scalar": 256,
    "sliding_window": 4096,
    "tie_word_embeddings": True,
}
_GEMMA_FIELDS: dict[str, Any] = {
    "rms_norm_add_unit_offset": True,
    "post_attention_norm": True,
    "post_ffn_norm": True,
}
_HEAD_NORMS: dict[str, Any] = {"use_qk_norm": True, "qk_norm_before_rope": True}
MODEL_TYPES = {
    "llama": ModelType(_LLAMA, {}, mlp_bias=True),
    "mistral": ModelType(
        _LLAMA,
        {"num_key_value_heads": 8, "max_position_embeddings": 131072, "sliding_window": 4096},
        attention_bias=False,
    ),
    "qwen2": ModelType(_LLAMA, _QWEN, attention_bias=False, fields={"attention_qkv_bias": True}),
    "qwen3": ModelType(_LLAMA, {**_QWEN, "head_dim": 128}, fields=_HEAD_NORMS),
    "qwen3_moe": ModelType(
        {**_LLAMA, "mlp.gate": "feed_forward.router"},
        {
            "num_key_value_heads": 4,
            "max_position_embeddings": 32768,
            "use_sliding_window": False,
            "sliding_window": 4096,
            "num_experts": 128,
            "num_experts_per_tok": 8,
            "moe_intermediate_size": 768,
            "norm_topk_prob": False,
            "decoder_sparse_step": 1,
            "mlp_only_layers": None,
        },
        # Results and losses of the router, and a field of Qwen 3 that models of this type do not have.
        without_effect=frozenset({"output_router_logits", "router_aux_loss_coef", "max_window_layers"}),
        fields={**_HEAD_NORMS, "moe": True},
    ),
    "phi3": ModelType(
        _PHI3,
        {"rms_norm_eps": 1e-5, "max_position_embeddings": 4096},
        attention_bias=False,
        without_effect=frozenset({"original_max_position_embeddings"}),
    ),
    "smollm3": ModelType(
        _LLAMA,
        {
            "num_key_value_heads": 4,
            "max_position_embeddings": 32768,
            "use_sliding_window": False,
            "no_rope_layers": None,
            "no_rope_layer_interval": 4,
            "tie_word_embeddings": True,
        },
        rope_theta=2e6,
        without_effect=frozenset({"max_window_layers"}),  # Qwen's: here, the layers without RoPE have windows
        mlp_bias=True,
    ),
    "granite": ModelType(
        _LLAMA,
        {
            "embedding_multiplier": 1.0,
            "logits_scaling": 1.0,
            "residual_multiplier": 1.0,
            "attention_multiplier": 1.0,
        },
        mlp_bias=True,
    ),
    "olmo2": ModelType(
        _NORMS_OF_SUMS,
        {"rms_norm_eps": 1e-5},
        fields={
            **_HEAD_NORMS,
            "qk_norm_whole": True,
            "use_attention_norm": False,
            "use_ffn_norm": False,
            "post_attention_norm": True,
            "post_ffn_norm": True,
        },
    ),
    "gemma2": ModelType(
        _NORMS_OF_SUMS,
        {
            **_GEMMA,
            "max_position_embeddings": 8192,
            "final_logit_softcapping": 30.0,
            "attn_logit_softcapping": 50.0,
        },
        without_effect=frozenset({"sliding_window_size"}),  # the first name of sliding_window
        fields=_GEMMA_FIELDS,
    ),
    "gemma3_text": ModelType(
        _NORMS_OF_SUMS,
        {
            **_GEMMA,
            "max_position_embeddings": 131072,
            "final_logit_softcapping": None,
            "sliding_window_pattern": 6,
            "rope_local_base_freq": 1e4,
        },
        rope_theta=1e6,
        without_effect=frozenset({"_sliding_window_pattern"}),
        fields={**_GEMMA_FIELDS, **_HEAD_NORMS},
    ),
    "lfm2": ModelType(
        _LFM2,
        {
            "num_key_value_heads": 8,
            "max_position_embeddings": 128000,
            "norm_eps": 1e-5,
            "tie_word_embeddings": True,
            "full_attn_idxs": None,
            "block_auto_adjust_ff_dim": True,
            "block_ffn_dim_multiplier": 1.0,
            "block_multiple_of": 256,
        },
        rope_theta=1e6,
        attention_bias=False,
        # The initialisation of weights in the first version of its code, and lengths that are given twice.
        without_effect=frozenset(
            [
                "block_dim",
                "block_norm_eps",
                "block_mlp_init_scale",
                "block_out_init_scale",
                "block_use_xavier_init",
                "conv_dim",
                "conv_dim_out",
                "conv_use_xavier_init",
                "num_heads",
                "theta",
            ]
        ),
        fields=_HEAD_NORMS,
    ),
}


def defaults(kind: str) -> dict[str, Any]:
    """The values of fields that a `config.json` of this `model_type` lacks."""
    return {**_DEFAULTS, **MODEL_TYPES[kind].defaults}


_WITHOUT_EFFECT = """
Where the file came from, and what read or wrote it:
    _name_or_path name_or_path _commit_hash transformers_version architectures auto_map is_llama_config
    transformers.js_config unsloth_fixed unsloth_version model_name
The dtype of weights, which are read in the dtype of the file, and the length of the context, unless RoPE depends on it:
    dtype torch_dtype use_bfloat16 torchscript max_position_embeddings model_max_length max_sequence_length
Training, with initial values, dropout, losses, and matrices that were divided among machines:
    initializer_range attention_dropout hidden_dropout resid_pdrop embd_pdrop gradient_checkpointing pretraining_tp
    problem_type id2label label2id num_labels finetuning_task task_specific_params
Which results transformers returns, and how it computes them:
    use_cache cache_implementation return_dict use_return_dict output_attentions output_hidden_states output_scores
    return_dict_in_generate chunk_size_feed_forward tie_encoder_decoder is_decoder attn_implementation
    _attn_implementation _attn_implementation_autoset _attn_implementation_internal _experts_implementation_internal
    _flash_attn_2_enabled keys_to_ignore_at_inference
Tokens and sampling, which the tokenizer and the sampler define:
    bos_token_id eos_token_id pad_token_id sep_token_id decoder_start_token_id unk_token_id tokenizer_class prefix
    forced_bos_token_id forced_eos_token_id suppress_tokens begin_suppress_tokens bad_words_ids max_length min_length
    max_new_tokens do_sample early_stopping num_beams num_beam_groups diversity_penalty temperature top_k top_p
    typical_p repetition_penalty length_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size
    num_return_sequences exponential_decay_length_penalty remove_invalid_values
"""
WITHOUT_EFFECT = frozenset(
    name for line in _WITHOUT_EFFECT.splitlines() if line.startswith(" ") for name in line.split()
)
"""Fields of all models whose values do not change logits."""
NEUTRAL: dict[str, tuple[Any, ...]] = {
    # Parts that only other models have.
    "attention_bias": (False,),
    "mlp_bias": (False,),
    "lm_head_bias": (False,),
    "conv_bias": (False,),
    "conv_L_cache": (3,),
    "block_use_swiglu": (True,),
    "use_pos_enc": (True,),
    "rope_interleaved": (False,),
    "use_mrope": (False,),
    "partial_rotary_factor": (None, 1.0),
    "full_attn_mod": (1,),
    "interpolate_factor": (1,),
    "sliding_window": (None,),
    "use_sliding_window": (False,),
    "use_bidirectional_attention": (None, False),
    "attn_logit_softcapping": (None,),
    "final_logit_softcapping": (None,),
    "clip_qkv": (None,),
    "is_encoder_decoder": (False,),
    "add_cross_attention": (False,),
    "cross_attention_hidden_size": (None,),
    "pruned_heads": ({}, None),
    "per_layer_config": (None,),
    "quantization_config": (None,),
    "compression_config": (None,),
}
"""Values of unsupported fields that are accepted, because they say that the model lacks these parts."""
